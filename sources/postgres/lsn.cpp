#include "sources/postgres/lsn.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace cdc::sources::postgres {

namespace {

bool read_half(std::string_view digits, std::uint32_t& out) {
  if (digits.empty() || digits.size() > 8)
    return false;
  const auto* end = digits.data() + digits.size();
  const auto [stopped, problem] = std::from_chars(digits.data(), end, out, 16);
  return problem == std::errc{} && stopped == end;
}

} // namespace

std::string to_lsn(position at) {
  return fmt::format("{:X}/{:X}", at.token >> 32, at.token & 0xffff'ffff);
}

result<position> parse_lsn(std::string_view text) {
  const auto slash = text.find('/');
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  if (slash == text.npos || !read_half(text.substr(0, slash), high) ||
      !read_half(text.substr(slash + 1), low))
    return fail(errc::malformed_message, "'{}' is not a log sequence number", text);
  const position at{(std::uint64_t{high} << 32) | low};
  if (at >= position_limit)
    return fail(errc::source_misconfigured, "the server's log is at {}, beyond {}", text,
                to_lsn(position_limit));
  return at;
}

} // namespace cdc::sources::postgres
