#include <charconv>

#include "actors/http/client.hpp"

namespace cdc::actors::http {

result<address> parse_address(std::string_view text) {
  const auto refused = [whole = text] {
    return fail(errc::invalid_config, "'{}' is no address: write http://host:port", whole);
  };
  if (text.starts_with("https://"))
    return fail(errc::invalid_config, "'{}': only http:// is served", text);
  if (text.starts_with("http://"))
    text.remove_prefix(7);
  if (text.ends_with('/'))
    text.remove_suffix(1);
  address at;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == text.npos)
      return refused();
    at.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    const auto end = text.find(':');
    at.host = text.substr(0, end);
    text = end == text.npos ? std::string_view{} : text.substr(end);
  }
  if (at.host.empty() || at.host.find_first_of("/?#@ ") != std::string::npos)
    return refused();
  if (text.empty())
    return at;
  const auto* const last = text.data() + text.size();
  if (text[0] != ':')
    return refused();
  const auto [stop, trouble] = std::from_chars(text.data() + 1, last, at.port);
  if (trouble != std::errc{} || stop != last || at.port == 0)
    return refused();
  return at;
}

} // namespace cdc::actors::http
