#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "messages/error.hpp"

namespace cdc::config {

/// Where a target that speaks HTTP listens.
struct server_url {
  bool is_tls = false;
  std::string host; ///< Without the brackets of an IPv6 address.
  std::uint16_t port = 0;

  bool operator==(const server_url&) const = default;
};

/// `https://host:9200`
[[nodiscard]] std::string to_string(const server_url& where);

/// Reads `http[s]://host[:port][/]`; without a port it is 9200. errc::invalid_config for another
/// scheme, a path, a query, or credentials, which have keys of their own. No message repeats it.
[[nodiscard]] result<server_url> parse_server_url(std::string_view url);

} // namespace cdc::config
