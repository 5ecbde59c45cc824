#include <charconv>
#include <utility>

#include "config/sections.hpp"

namespace cdc::config {

namespace {

bool parse_bind(std::string_view text, listener_config& out) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return false;
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return false;
  const auto [end, broken] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (host.empty() || port.empty() || broken != std::errc{} || end != port.data() + port.size())
    return false;
  out.host = host;
  return true;
}

bool is_loopback(std::string_view host) noexcept {
  return host.starts_with("127.") || host == "localhost" || host == "::1";
}

listener_config read_listener(section in, listener_config out) {
  in.read("enabled", out.enabled);
  if (const auto bind = in.text("bind"); bind && !parse_bind(*bind, out))
    in.report("bind", "expected host:port, with an IPv6 address in brackets");
  out.token = read_variable(in, "token_env");
  if (out.enabled && in.has("bind") && !is_loopback(out.host) && !in.has("token_env"))
    in.note("bind", "is reachable from other machines without a token; set token_env");
  in.finish();
  return out;
}

} // namespace

listener_config read_metrics(section in) {
  return read_listener(std::move(in), {});
}

listener_config read_api(section in) {
  return read_listener(std::move(in), {.enabled = false, .port = 9101});
}

} // namespace cdc::config
