#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/secret.hpp"
#include "messages/error.hpp"

namespace cdc::actors::http {

struct fetched {
  unsigned status = 0;
  std::string body;
};

/// Where a listener is.
struct address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 9100;
};

/// Reads `[http://]host[:port][/]`; `[::1]:9100` for IPv6. errc::invalid_config.
[[nodiscard]] result<address> parse_address(std::string_view text);

/// One GET, at most 64 MiB of body. `target` begins with a slash. Any response is a success; no
/// connection, a cut one or one that takes longer than `patience` is not.
[[nodiscard]] result<fetched> fetch(const address& from, std::string_view target,
                                    const config::secret& token = {},
                                    std::chrono::milliseconds patience = std::chrono::seconds{5});

} // namespace cdc::actors::http
