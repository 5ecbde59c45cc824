#include "messages/snapshot.hpp"

#include <algorithm>
#include <charconv>

namespace cdc {

bool snapshot::is_sure_of(std::uint32_t xid) const noexcept {
  const auto behind = static_cast<std::int32_t>(static_cast<std::uint32_t>(xmax) - xid);
  if (behind <= 0)
    return false;
  const auto full = xmax - static_cast<std::uint64_t>(behind);
  return full < xmin || !std::ranges::binary_search(in_progress, full);
}

result<snapshot> parse_snapshot(std::string_view text) {
  const auto* at = text.data();
  const auto* end = text.data() + text.size();
  const auto number = [&](std::uint64_t& into) {
    const auto [next, mistake] = std::from_chars(at, end, into);
    const auto read = mistake == std::errc{};
    at = next;
    return read;
  };
  const auto character = [&](char wanted) { return at != end && *at == wanted && ++at; };
  snapshot out;
  auto good = number(out.xmin) && character(':') && number(out.xmax) && character(':');
  while (good && at != end) {
    good = (out.in_progress.empty() || character(',')) && number(out.in_progress.emplace_back());
  }
  if (!good || out.xmin > out.xmax || !std::ranges::is_sorted(out.in_progress))
    return fail(errc::malformed_message, "not a snapshot: {} characters", text.size());
  return out;
}

std::string to_string(const snapshot& seen) {
  auto out = fmt::format("{}:{}:", seen.xmin, seen.xmax);
  for (std::size_t i = 0; i < seen.in_progress.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", seen.in_progress[i]);
  return out;
}

} // namespace cdc
