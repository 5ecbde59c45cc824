#include "config/server_url.hpp"

#include <algorithm>
#include <charconv>

namespace cdc::config {

namespace {

constexpr std::uint16_t port_default = 9200;

bool take(std::string_view& text, std::string_view prefix) {
  const auto is_there = text.starts_with(prefix);
  if (is_there)
    text.remove_prefix(prefix.size());
  return is_there;
}

/// The host, taken off the front; empty when there is none.
std::string take_host(std::string_view& text) {
  const auto is_bracketed = text.starts_with('[');
  const auto end = is_bracketed ? text.find(']') : text.find(':');
  if (is_bracketed && end == std::string_view::npos)
    return {};
  std::string host{text.substr(is_bracketed ? 1 : 0, is_bracketed ? end - 1 : end)};
  text.remove_prefix(end == std::string_view::npos ? text.size() : is_bracketed ? end + 1 : end);
  return host;
}

bool is_host_letter(char letter) noexcept {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_' ||
         letter == ':';
}

bool read_port(std::string_view text, std::uint16_t& out) {
  if (text.empty())
    return true;
  if (!take(text, ":"))
    return false;
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), out);
  return mistake == std::errc{} && end == text.data() + text.size() && out != 0;
}

} // namespace

std::string to_string(const server_url& where) {
  const auto is_bracketed = where.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", where.is_tls ? "https" : "http", is_bracketed ? "[" : "",
                     where.host, is_bracketed ? "]" : "", where.port);
}

// The text is not repeated in a message: it may hold a password.
result<server_url> parse_server_url(std::string_view url) {
  server_url out;
  out.port = port_default;
  out.is_tls = url.starts_with("https://");
  if (!take(url, "https://") && !take(url, "http://"))
    return fail(errc::invalid_config, "expected http://host:port or https://host:port");
  if (url.find('@') != std::string_view::npos)
    return fail(
        errc::invalid_config,
        "credentials do not belong in the URL: use username and password_env, or api_key_env");
  if (url.ends_with('/'))
    url.remove_suffix(1);
  if (url.find_first_of("/?#") != std::string_view::npos)
    return fail(errc::invalid_config, "a path or a query does not belong in the URL");
  out.host = take_host(url);
  if (out.host.empty() || !std::ranges::all_of(out.host, is_host_letter) ||
      !read_port(url, out.port))
    return fail(errc::invalid_config, "expected http://host:port or https://host:port");
  return out;
}

} // namespace cdc::config
