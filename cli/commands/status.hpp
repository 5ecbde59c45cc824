#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "config/config.hpp"
#include "sinks/standing.hpp"
#include "sources/mysql/standing.hpp"
#include "sources/postgres/setup.hpp"

namespace cdc::cli {

/// One target, as it stands.
struct target_status {
  std::string name;
  std::string flavor;
  std::string path;
  bool keeps_checkpoint = true;           ///< Otherwise its position is what the source was told.
  std::optional<position> resume;         ///< None: nothing was written yet.
  std::optional<std::int64_t> written_at; ///< Microseconds since 1970-01-01 UTC.
  std::optional<std::uint64_t> behind;    ///< Bytes of the source's log …
  std::optional<std::chrono::seconds> behind_time; ///< … and the age of the first change in them.
  std::set<std::string> loaded;                    ///< Target tables whose load has finished …
  std::size_t tables_begun = 0;                    ///< … of those it was begun for.
  std::size_t listed = 0;                          ///< Rows to be read again.
  std::string error;
};

struct pipeline_status {
  std::string name;
  std::string file;
  config::source_config::flavor source = config::source_config::flavor::postgres;
  std::string slot; ///< What tells the stream from others of the server; MySQL: the server_id.
  std::optional<sources::postgres::log_standing> log;    ///< What the server said: PostgreSQL …
  std::optional<sources::mysql::binlog_standing> binlog; ///< … or MySQL. Neither: see `error`.
  std::string error;                                     ///< Why the source could not be asked.
  std::vector<target_status> targets;
};

/// Reads both ends. Changes nothing.
[[nodiscard]] pipeline_status look_at(const config::pipeline_config& pipeline);

/// What a target has to have.
struct goal {
  position at;                     ///< Everything of the log before it …
  std::vector<std::string> tables; ///< … and these target tables, loaded.
};

/// Whether every target has it. One that keeps no checkpoint counts by what the slot was told; with
/// MySQL, which keeps nothing, it never has.
[[nodiscard]] bool has_reached(const pipeline_status& status, const goal& wanted);

[[nodiscard]] std::string to_text(const pipeline_status& status,
                                  std::chrono::system_clock::time_point now);
[[nodiscard]] std::string to_json(const std::vector<pipeline_status>& all);

/// Prints where each pipeline stands. Returns the exit status: 0; 1 when an end could not be read,
/// a target has not caught up in time, or too much log is retained; 2 for a mistake in a file.
[[nodiscard]] int run_status(const status_options& options);

} // namespace cdc::cli
