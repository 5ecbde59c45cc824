#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/finding.hpp"
#include "sources/postgres/slots.hpp"

namespace cdc::sources::postgres {

using sources::finding;

/// A table that a section takes.
struct chosen_table {
  relation_ptr shape;
  std::size_t section = 0; ///< Index into the sections given.
  bool append_only = false;
  /// publication_state::entry_of(); 0: it was only looked at.
  std::uint32_t published_by = 0;
};

struct setup_request {
  const config::source_config& source;
  std::span<const config::sync_config> sections;
  /// Where each target resumes; none: it was never written for this stream.
  std::vector<std::optional<position>> resumes;
  /// Drops the slot there is and begins anew, whatever the targets hold.
  bool fresh = false;
  /// Called while the slot's creation waits: see create_slot().
  std::function<void(const slot_wait&)> waiting = nullptr;
  std::shared_ptr<const stop_signal> stop = nullptr;
};

/// A source that is ready to be streamed from.
struct prepared_source {
  stream_identity identity;
  std::vector<std::string> publications; ///< START_REPLICATION's publication_names.
  std::vector<chosen_table> tables;      ///< In the order of schema and name.
  position start;                        ///< The slot's confirmed position.
  bool slot_created = false;
  /// Transactions the load's snapshots must be sure of where a target has none stored. With a slot
  /// created just now: exactly the hidden commits before its start. Otherwise the plain form: all
  /// that was running (or hidden) at this moment.
  std::vector<transaction_id> unproved;
  int server_version = 0;
  std::vector<std::string> notes; ///< The warnings of the inspection.
};

/// Which stream this source is; touches nothing.
[[nodiscard]] result<stream_identity>
identify(const config::source_config& source,
         const std::shared_ptr<const stop_signal>& stop = nullptr);

/// The server's log, now.
struct log_standing {
  stream_identity identity;
  std::vector<slot_state> slots; ///< Every slot of the server, by name.
  position end;                  ///< Of what is flushed, and so of what a slot can send.
};

/// Reads only.
[[nodiscard]] result<log_standing> read_log(const config::source_config& source);

/// A publication this source needs.
struct needed_publication {
  std::string name;
  std::optional<std::string> create; ///< The statement, where it does not exist.
};

/// What there is of a source before anything is created.
struct inspection {
  std::vector<finding> findings;    ///< In the order they were looked at.
  std::vector<chosen_table> tables; ///< What the sections take, as far as it is known.
  std::vector<needed_publication> publications;
  std::optional<log_standing> log; ///< None: the server was not reached.
};

/// Why the log from `resume` on cannot be read with these publications; empty: it can, for all that
/// is known.
[[nodiscard]] std::string judge_publications(std::span<const needed_publication> publications,
                                             position resume);

/// Everything that can be said about the source before anything is created. Reads only.
[[nodiscard]] inspection inspect(const config::source_config& source,
                                 std::span<const config::sync_config> sections);

/// Only the findings.
[[nodiscard]] std::vector<finding> inspect_source(const config::source_config& source,
                                                  std::span<const config::sync_config> sections);

/// Makes the source ready: inspects it, then creates the publications and the slot that are missing
/// and nothing else. What exists is never altered: an error names every difference, with the SQL
/// that would remove it.
[[nodiscard]] result<prepared_source> prepare_source(const setup_request& request);

} // namespace cdc::sources::postgres
