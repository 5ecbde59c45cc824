#include "messages/snapshot.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace cdc {

namespace {

/// Reads digits and signs one after another.
class text_reader {
public:
  explicit text_reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool number(std::uint64_t& into) {
    const auto [next, mistake] = std::from_chars(at_, end_, into);
    at_ = next;
    return mistake == std::errc{};
  }
  bool character(char wanted) { return at_ != end_ && *at_ == wanted && ++at_; }
  [[nodiscard]] bool is_done() const { return at_ == end_; }

private:
  const char* at_;
  const char* end_;
};

bool read_xids(text_reader& from, snapshot& out) {
  auto good =
      from.number(out.xmin) && from.character(':') && from.number(out.xmax) && from.character(':');
  while (good && !from.is_done())
    good = (out.in_progress.empty() || from.character(',')) &&
           from.number(out.in_progress.emplace_back());
  return good && out.xmin <= out.xmax && std::ranges::is_sorted(out.in_progress);
}

bool read_run(text_reader& from, std::vector<snapshot::run>& into) {
  snapshot::run next;
  if (!from.number(next.first))
    return false;
  next.last = next.first;
  if (from.character('-') && !from.number(next.last))
    return false;
  const auto is_apart = into.empty() || into.back().last < next.first;
  into.push_back(next);
  return is_apart && next.first <= next.last;
}

bool read_runs(text_reader& from, snapshot& out) {
  do {
    if (!read_run(from, out.runs))
      return false;
  } while (from.character(','));
  return from.character(']') && from.is_done();
}

std::uint64_t count(const std::vector<snapshot::run>& runs) {
  std::uint64_t out = 0;
  for (const auto& each : runs)
    out += each.last - each.first + 1;
  return out;
}

} // namespace

bool snapshot::is_sure_of(transaction_id id) const noexcept {
  if (!runs.empty()) {
    const auto behind = std::ranges::upper_bound(runs, id, {}, &run::first);
    return behind != runs.begin() && id <= std::prev(behind)->last;
  }
  const auto behind =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(xmax) - static_cast<std::uint32_t>(id));
  if (behind <= 0)
    return false;
  const auto full = xmax - static_cast<std::uint64_t>(behind);
  return full < xmin || !std::ranges::binary_search(in_progress, full);
}

bool snapshot::has_seen_no_less_than(const snapshot& other) const noexcept {
  if (!runs.empty())
    return count(runs) >= count(other.runs);
  return xmax > other.xmax ||
         (xmax == other.xmax && in_progress.size() <= other.in_progress.size());
}

result<snapshot> parse_snapshot(std::string_view text) {
  text_reader from{text};
  snapshot out;
  if (!(from.character('[') ? read_runs(from, out) : read_xids(from, out)))
    return fail(errc::malformed_message, "not a snapshot: {} characters", text.size());
  return out;
}

std::string to_string(const snapshot& seen) {
  if (!seen.runs.empty()) {
    std::string out;
    for (const auto& [first, last] : seen.runs) {
      out += fmt::format("{}{}", out.empty() ? '[' : ',', first);
      if (last != first)
        out += fmt::format("-{}", last);
    }
    return out + ']';
  }
  auto out = fmt::format("{}:{}:", seen.xmin, seen.xmax);
  for (std::size_t i = 0; i < seen.in_progress.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", seen.in_progress[i]);
  return out;
}

} // namespace cdc
