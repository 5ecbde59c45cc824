#include "config/mysql_url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "config/percent.hpp"

namespace cdc::config {

namespace {

constexpr std::array<std::string_view, 5> known_parameters{"connect_timeout", "sslcert", "sslkey",
                                                           "sslmode", "sslrootcert"};

std::optional<std::string_view> without_scheme(std::string_view text) noexcept {
  for (const std::string_view scheme : {"mysql://", "mariadb://"})
    if (text.starts_with(scheme))
      return text.substr(scheme.size());
  return std::nullopt;
}

/// What stands before `mark`; `text` keeps what stands behind it, or nothing.
std::string_view take_until(std::string_view& text, char mark) noexcept {
  const auto before = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), before.size() + 1));
  return before;
}

result<void> read_host(std::string_view text, mysql_url& out) {
  auto port = std::string_view{};
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos)
      return fail(errc::invalid_config, "the host's bracket is not closed");
    out.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const auto colon = std::min(text.size(), text.rfind(':'));
    out.host = percent_decoded(text.substr(0, colon));
    port = text.substr(colon);
  }
  if (out.host.empty())
    return fail(errc::invalid_config, "there is no host");
  if (port.empty())
    return {};
  const auto* end = port.data() + port.size();
  const auto [read, mistake] = std::from_chars(port.data() + 1, end, out.port);
  if (port.front() != ':' || read != end || mistake != std::errc{} || out.port == 0)
    return fail(errc::invalid_config,
                "the port is none; in a user's name or password, write @ / : ? # % as %40 %2F %3A "
                "%3F %23 %25");
  return {};
}

result<void> read_parameters(std::string_view text, mysql_url& out) {
  while (!text.empty()) {
    auto pair = take_until(text, '&');
    const auto key = percent_decoded(take_until(pair, '='));
    if (std::ranges::find(known_parameters, key) == known_parameters.end())
      return fail(errc::invalid_config,
                  "a parameter behind the ? is unknown; there are connect_timeout, sslcert, "
                  "sslkey, sslmode and sslrootcert");
    out.parameters[key] = percent_decoded(pair);
  }
  return {};
}

} // namespace

bool is_mysql_url(std::string_view text) noexcept {
  return without_scheme(text).has_value();
}

result<mysql_url> parse_mysql_url(std::string_view text) {
  auto rest = without_scheme(text);
  if (!rest)
    return fail(errc::invalid_config, "expected mysql://user:password@host:port/database");
  mysql_url out;
  auto path = rest->substr(std::min(rest->size(), rest->find_first_of("/?")));
  auto server = rest->substr(0, rest->size() - path.size());
  if (const auto at = server.rfind('@'); at != std::string_view::npos) {
    auto password = server.substr(0, at);
    out.user = percent_decoded(take_until(password, ':'));
    out.password = secret{percent_decoded(password)};
    server.remove_prefix(at + 1);
  }
  if (out.user.empty())
    return fail(errc::invalid_config, "there is no user");
  if (auto read = read_host(server, out); !read)
    return tl::unexpected(read.error());
  auto parameters = path;
  path = take_until(parameters, '?');
  if (path.starts_with('/'))
    path.remove_prefix(1);
  out.database = percent_decoded(path);
  if (auto read = read_parameters(parameters, out); !read)
    return tl::unexpected(read.error());
  return out;
}

} // namespace cdc::config
