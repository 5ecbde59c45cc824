#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::sources::postgres {

/// What a connection is for.
enum class purpose : std::uint8_t {
  query,       ///< Catalogue, load, proofs.
  replication, ///< The walsender's protocol (`replication=database`).
  admin,       ///< Creating the publication and the slot: source.admin_url where there is one.
  admin_replication, ///< The same, on the walsender.
};

/// How to connect: libpq's parameters with everything that the program relies on pinned.
///
/// Every connection speaks UTC, ISO dates, shortest floats, hex bytea, UTF-8 and an empty
/// search_path, has no timeout of the server's, sees all rows or fails (row_security=off), and
/// commits locally (it never waits for a standby). A dead peer ends it within seconds.
class conninfo {
public:
  /// Reads the URL or `key=value` text and merges [source]'s TLS keys over it. `role` ends the
  /// application_name: `cdc-actors shop load`. A text that is not understood is not repeated.
  [[nodiscard]] static result<conninfo> make(const config::source_config& source, purpose use,
                                             std::string_view role);

  /// Null-terminated arrays for PQconnectStartParams(…, 0). They view this object.
  [[nodiscard]] std::vector<const char*> keywords() const;
  [[nodiscard]] std::vector<const char*> values() const;

  /// `host:port/dbname as user`: all that a message may say of it.
  [[nodiscard]] const std::string& describe() const noexcept { return description_; }
  [[nodiscard]] const std::string& database() const noexcept { return database_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  /// How long one attempt to connect may take; libpq leaves it to whoever polls.
  [[nodiscard]] std::chrono::seconds connect_timeout() const noexcept { return connect_timeout_; }

private:
  void set(std::string_view key, std::string value);
  void set_default(std::string_view key, std::string value);
  [[nodiscard]] std::string value_of(std::string_view key) const;
  void pin(std::string_view application_name);
  void read_back();

  std::vector<std::pair<std::string, std::string>> parameters_;
  std::string description_;
  std::string database_, user_; ///< With libpq's defaults.
  std::chrono::seconds connect_timeout_{10};
};

} // namespace cdc::sources::postgres
