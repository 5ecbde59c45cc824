#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::sources::mysql {

/// Where a server is and how to log in to it.
struct endpoint {
  std::string host;
  std::uint16_t port = 3306;
  std::string user;
  config::secret password;
  std::string database; ///< Empty: none is chosen.
  config::ssl_mode sslmode = config::ssl_mode::prefer;
  std::string sslrootcert, sslcert, sslkey; ///< Files; empty: none.
  std::string server_public_key;            ///< The same; for a login without TLS.
  std::chrono::seconds connect_timeout{10};
  std::chrono::seconds read_timeout{0}; ///< How long the server may say nothing; 0: for ever.
  std::string program; ///< What the server's list of connections shows: `cdc-actors shop load`.

  /// What [source] says. `role` ends `program`.
  [[nodiscard]] static result<endpoint> make(const config::source_config& source,
                                             std::string_view role);

  /// `host:port as user`: all that a message may say of it.
  [[nodiscard]] std::string describe() const;
};

} // namespace cdc::sources::mysql
