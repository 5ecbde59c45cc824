#include "sources/mysql/endpoint.hpp"

#include <algorithm>
#include <charconv>

#include "config/mysql_url.hpp"

namespace cdc::sources::mysql {

result<endpoint> endpoint::make(const config::source_config& source, std::string_view role) {
  const auto url = config::parse_mysql_url(source.url.reveal());
  if (!url)
    return fail(errc::invalid_config, "{}: {}",
                source.url_from.empty() ? "the source's URL" : source.url_from, url.error().detail);
  endpoint out;
  out.host = url->host;
  out.port = url->port;
  out.user = url->user;
  out.password = url->password;
  out.database = url->database;
  out.sslmode = source.sslmode_in_force;
  out.sslrootcert = source.sslrootcert;
  out.sslcert = source.sslcert;
  out.sslkey = source.sslkey;
  out.server_public_key = source.server_public_key;
  if (const auto said = url->parameters.find("connect_timeout"); said != url->parameters.end()) {
    const auto& text = said->second;
    unsigned seconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (seconds == 0 || seconds > 3600)
      return fail(errc::invalid_config, "{}: connect_timeout is from 1 to 3600 seconds",
                  source.url_from);
    out.connect_timeout = std::chrono::seconds{seconds};
  }
  out.program =
      "cdc-actors " + (source.name.empty() ? std::string{} : source.name + " ") + std::string{role};
  return out;
}

std::string endpoint::describe() const {
  return fmt::format("{}:{} as {}", host, port, user);
}

} // namespace cdc::sources::mysql
