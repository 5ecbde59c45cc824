#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/publication.hpp"
#include "sources/postgres/setup.hpp"

namespace cdc::sources::postgres {

/// What is known of a source before anything is created.
struct survey {
  std::vector<finding> findings;
  stream_identity identity;
  int server_version = 0;
  std::vector<chosen_table> tables;
  std::vector<needed_publication> publications;

  void good(std::string text);
  void warn(std::string text);
  void bad(errc code, std::string text);
};

/// Looks at server, role, tables and publications; reads only. `admin` is the connection that
/// would create what is missing; it may be `on`. An error is one of the connection: all that is
/// wrong with the source is a finding.
[[nodiscard]] result<survey> survey_source(connection& on, connection& admin,
                                           const config::source_config& source,
                                           std::span<const config::sync_config> sections);

/// Looks at the slot, and at what its creation would wait for where there is none.
[[nodiscard]] result<void> survey_slot(connection& on, const config::source_config& source,
                                       survey& into);

/// The stream's identity as `on` sees it.
[[nodiscard]] result<stream_identity> read_identity(connection& on,
                                                    const config::source_config& source);

/// All that is bad as one error, a line each; its code is the first one's.
[[nodiscard]] std::optional<error> refusal(const survey& of);

} // namespace cdc::sources::postgres
