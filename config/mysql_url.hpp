#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "config/secret.hpp"
#include "messages/error.hpp"

namespace cdc::config {

/// What a `mysql://user:password@host:port/database?key=value` URL says, decoded.
struct mysql_url {
  std::string user;
  secret password;
  std::string host;
  std::uint16_t port = 3306;
  std::string database; ///< Empty: none.
  std::map<std::string, std::string> parameters;
};

/// Also `mariadb://`. errc::invalid_config with what is wrong; no message repeats any of it.
[[nodiscard]] result<mysql_url> parse_mysql_url(std::string_view text);

/// Whether the text claims to be one.
[[nodiscard]] bool is_mysql_url(std::string_view text) noexcept;

} // namespace cdc::config
