#include "sources/mysql/gtid_state.hpp"

#include <algorithm>
#include <charconv>

namespace cdc::sources::mysql {

std::string to_string(const domain_gtid& gtid) {
  return fmt::format("{}-{}-{}", gtid.domain, gtid.server, gtid.number);
}

result<gtid_state> gtid_state::parse(std::string_view text) {
  gtid_state out;
  const auto* at = text.data();
  const auto* const end = text.data() + text.size();
  const auto number = [&](auto& into) {
    const auto [next, mistake] = std::from_chars(at, end, into);
    at = next;
    return mistake == std::errc{};
  };
  const auto character = [&](char wanted) { return at != end && *at == wanted && ++at; };
  while (at != end) {
    domain_gtid next;
    const auto good = (out.empty() || character(',')) && number(next.domain) && character('-') &&
                      number(next.server) && character('-') && number(next.number);
    if (!good || out.domains_.contains(next.domain))
      return fail(errc::malformed_message, "this is no state of MariaDB's GTIDs");
    out.add(next);
  }
  return out;
}

bool gtid_state::contains(const gtid_state& other) const noexcept {
  return std::ranges::all_of(other.domains_, [&](const auto& entry) {
    const auto found = domains_.find(entry.first);
    return found != domains_.end() && entry.second.number <= found->second.number;
  });
}

std::string to_string(const gtid_state& state) {
  std::string out;
  for (const auto& [domain, gtid] : state.domains())
    out += (out.empty() ? "" : ",") + to_string(gtid);
  return out;
}

} // namespace cdc::sources::mysql
