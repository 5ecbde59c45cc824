#include <charconv>

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

} // namespace

listener_config read_metrics(section in) {
  listener_config out;
  in.read("enabled", out.enabled);
  if (const auto bind = in.text("bind"); bind && !parse_bind(*bind, out))
    in.report("bind", "expected host:port, with an IPv6 address in brackets");
  out.token = read_variable(in, "token_env");
  if (out.enabled && in.has("bind") && !is_loopback(out.host) && !in.has("token_env"))
    in.note("bind", "is reachable from other machines without a token; set token_env");
  in.finish();
  return out;
}

void refuse_api(section in) {
  if (in.flag("enabled") == true)
    in.report("enabled", "not supported yet; /status, /actors and /readyz are on the metrics port");
  in.refuse_as_later({"bind", "token_env"});
  in.finish();
}

} // namespace cdc::config
