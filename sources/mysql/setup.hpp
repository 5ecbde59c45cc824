#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "messages/transaction_id.hpp"
#include "sources/finding.hpp"
#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/coordinates.hpp"

namespace cdc::sources::mysql {

/// A table that a section takes.
struct chosen_table {
  relation_ptr shape;
  std::size_t section = 0; ///< Index into the sections given.
  std::string engine;      ///< `InnoDB`
};

/// The server's log, now.
struct log_standing {
  log_place end;
  std::vector<std::string> files; ///< Oldest first.
  std::string gtids; ///< MySQL: @@gtid_executed; MariaDB: @@gtid_binlog_pos. Empty: none.
};

/// What there is of a source. Reads only.
struct inspection {
  std::vector<finding> findings; ///< In the order they were looked at.
  std::vector<chosen_table> tables;
  std::optional<stream_identity> identity; ///< None: the server was not reached.
  server_version version;
  std::optional<log_standing> log;
};

/// Which stream this source is; touches nothing.
[[nodiscard]] result<stream_identity> identify(const config::source_config& source,
                                               std::shared_ptr<stop_signal> stop = nullptr);

/// The same, over a connection that is there.
[[nodiscard]] result<stream_identity> identify(connection& on, const config::source_config& source);

[[nodiscard]] result<log_place> read_log_end(connection& on);
[[nodiscard]] result<log_standing> read_log(connection& on);

/// Whether what resumes there can go on with this log: errc::position_lost says why not.
[[nodiscard]] result<void> check_resume(position resume, const coordinates& at,
                                        const log_standing& log);

/// Everything that can be said about the source before it is read.
[[nodiscard]] inspection inspect(const config::source_config& source,
                                 std::span<const config::sync_config> sections,
                                 std::shared_ptr<stop_signal> stop = nullptr);

struct setup_request {
  const config::source_config& source;
  std::span<const config::sync_config> sections;
  /// Where each target resumes; none: it was never written for this stream.
  std::vector<std::optional<position>> resumes;
  std::shared_ptr<stop_signal> stop = nullptr;
};

/// A source that is ready to be streamed from.
struct prepared_source {
  stream_identity identity;
  server_version version;
  std::vector<chosen_table> tables; ///< In the order of schema and name.
  coordinates at;
  position start; ///< The log's end, now.
  /// What the load's snapshots must be sure of, the plain form: all that is in the log up to
  /// `start` and may be hidden.
  std::vector<transaction_id> unproved;
  std::vector<std::string> notes; ///< The warnings of the inspection.
};

/// Looks at all of it and changes nothing. Refused with all that is bad, a line each.
[[nodiscard]] result<prepared_source> prepare_source(const setup_request& request);

/// Which section takes a table: one that names it wins over patterns, and of those the first.
[[nodiscard]] std::optional<std::size_t> section_of(std::span<const config::sync_config> sections,
                                                    const table_id& table);

} // namespace cdc::sources::mysql
