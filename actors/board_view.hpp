#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/credit.hpp"
#include "messages/histogram.hpp"
#include "messages/position.hpp"
#include "sinks/target_gauges.hpp"

namespace cdc::actors {

enum class actor_kind : std::uint8_t {
  node,
  root,
  pipeline,
  source,
  coordinator,
  reader,
  engine,
  sink,
  checkpoint,
  http,
};
[[nodiscard]] std::string_view to_string(actor_kind what) noexcept;

enum class actor_state : std::uint8_t { starting, running, stopping, stopped, failed };
[[nodiscard]] std::string_view to_string(actor_state what) noexcept;

enum class pipeline_state : std::uint8_t {
  starting,
  loading,
  streaming,
  reconnecting,
  halted,
  stopped,
};
inline constexpr std::size_t pipeline_states = 6;
[[nodiscard]] std::string_view to_string(pipeline_state what) noexcept;

enum class table_state : std::uint8_t { waiting, loading, loaded };
[[nodiscard]] std::string_view to_string(table_state what) noexcept;

/// An error as an operator may read it: by errc's rules it holds no secret and no value.
struct error_view {
  std::string text{};  ///< Empty: none.
  std::int64_t at = 0; ///< Microseconds since 1970 UTC.

  bool operator==(const error_view&) const = default;
};

/// Row accounting, as engine::accounting counts it.
struct rows_view {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t merged = 0;
  std::uint64_t filtered = 0;
  std::uint64_t superseded = 0;
  std::uint64_t quarantined = 0;

  bool operator==(const rows_view&) const = default;
};

/// What an actor was seen doing at one moment. Times are of steady_clock unless they say UTC.
struct actor_view {
  std::uint64_t id = 0;     ///< Of the place: the next life keeps it.
  std::uint64_t parent = 0; ///< 0: a root of the tree.
  std::string name{};
  actor_kind kind = actor_kind::root;
  std::string node{};
  std::string pipeline{}; ///< Empty: of the whole process.
  std::uint64_t incarnation = 0;
  actor_state state = actor_state::starting;
  std::uint64_t messages = 0;    ///< Handled so far.
  std::uint32_t mailbox = 0;     ///< Messages that waited when it last looked …
  std::uint32_t mailbox_max = 0; ///< … and the most there ever were.
  std::int64_t in_handler = 0; ///< Nanoseconds inside the present handler; 0: waits for a message.
  std::int64_t busy = 0;       ///< Nanoseconds inside handlers, so far.
  std::int64_t starved = 0;    ///< Nanoseconds with data to send and no credit, so far.
  bool is_starved = false;     ///< It has data to send and no credit, now.
  credit held{};               ///< What it may still send.
  credit owed{};               ///< What it has taken and not handed back.
  std::uint64_t in_flight = 0; ///< Bytes it keeps: received or sent, not done.
  std::string_view doing{};    ///< A word or two, in the program's memory for ever.
  std::string about{};         ///< What it does that to: a table, a batch number.
  std::uint64_t restarts = 0;
  error_view last_error{};
};

struct table_view {
  std::string name{}; ///< `schema.name` at the source.
  std::string sink{}; ///< The sink whose copy this is.
  table_state state = table_state::waiting;
  std::uint64_t rows = 0; ///< Read so far, by this process.
  std::uint64_t rows_estimate = 0;
  std::uint32_t ranges_done = 0;
  std::uint32_t ranges = 0; ///< 0: not planned yet.
  std::int64_t started = 0; ///< Microseconds since 1970 UTC; 0: not yet.
  std::int64_t finished = 0;
};

/// How a target that writes by requests fares.
struct target_view {
  std::uint32_t open = 0;
  double oldest_open_seconds = 0;
  std::uint32_t requests_now = 0, requests_max = 0; ///< Writes it may have open: now, at best.
  std::uint64_t items_now = 0, items_max = 0;       ///< Items of one write.
  std::uint64_t bytes_now = 0, bytes_max = 0;       ///< Bytes of one write.
  std::uint64_t retried = 0;
  std::uint64_t documents = 0;
  std::uint64_t bytes = 0;
  std::uint64_t quarantined = 0;
  std::string waits_for{}; ///< Empty: nothing is in the way.
  std::array<histogram_view, sinks::write_results> latency{};
};

struct sink_view {
  std::string name{};
  std::string flavor{};
  rows_view streamed{};
  rows_view copied{};
  std::uint64_t batches_flushed = 0;
  std::uint64_t errors = 0;         ///< Failed write attempts.
  std::uint64_t refused = 0;        ///< Rows the target refused for good.
  std::uint64_t refetch_listed = 0; ///< Rows to be read again by key.
  std::uint64_t refetched = 0;
  std::uint64_t entries = 0; ///< Keys the load rule keeps.
  position acknowledged{};
  position durable{};
  std::int64_t acknowledged_commit = 0; ///< Commit time of `acknowledged`, µs UTC; 0: none yet.
  histogram_view decode_to_ack{};
  histogram_view commit_to_ack{};
  histogram_view batch_write{};
  std::optional<target_view> target{};
};

enum class wal_status : std::uint8_t { reserved, extended, unreserved, lost, unknown };
[[nodiscard]] std::string_view to_string(wal_status what) noexcept;

struct slot_view {
  std::string name{};
  bool is_active = false;
  wal_status status = wal_status::unknown;
  std::uint64_t retained_bytes = 0;
  std::optional<std::uint64_t> safe_bytes{}; ///< None: unlimited.
};

/// How a source spells its positions: `0/153BC50`. Called by any thread.
using position_speller = std::function<std::string(position)>;
/// The number, for a source that says nothing else.
[[nodiscard]] std::string spell_token(position at);

struct drift_view {
  std::string table{};
  std::uint64_t changes = 0;
};

struct pipeline_view;
/// How the source is being read: `stream`, `catch-up`, or `load` while tables are.
[[nodiscard]] std::string_view reading_mode(const pipeline_view& of) noexcept;

struct pipeline_view {
  std::string name{};   ///< The `source` label.
  std::string flavor{}; ///< `postgres`.
  position_speller spell = spell_token;
  pipeline_state state = pipeline_state::starting;
  std::uint64_t incarnation = 0;
  bool is_connected = false;
  bool load_finished = false;
  std::string load_paused{}; ///< Why the load stands still; empty: it does not.
  std::uint64_t events_row = 0;
  std::uint64_t events_truncate = 0;
  std::uint64_t transactions = 0;
  std::uint64_t stream_bytes = 0; ///< As blocks count them.
  std::uint64_t reconnects = 0;
  position current{};           ///< The log's end, as the source last said.
  position received{};          ///< Everything below was decoded.
  position confirmed{};         ///< Every sink acknowledged everything below.
  position durable{};           ///< Reported to the source.
  std::uint64_t lag_bytes = 0;  ///< current − confirmed.
  std::uint64_t catch_ups = 0;  ///< Times that it began.
  bool is_catching_up = false;  ///< The log is read in bulk, far behind.
  std::uint64_t bytes_left = 0; ///< current − received.
  error_view reading_note{};    ///< What the source last had to say about how it reads.
  double lag_seconds = 0;       ///< Age of the oldest commit not acknowledged; 0 in step.
  error_view last_error{};
  std::vector<table_view> tables{};
  std::vector<sink_view> sinks{};
  std::vector<slot_view> slots{};
  std::vector<drift_view> drift{};
};

/// Everything seen of this process at one moment: plain values, so that what is shown of them can
/// be computed, and tested, without an actor. Parts may be some microseconds apart.
struct board_view {
  std::string node{};
  std::string version{};
  std::int64_t started = 0; ///< Microseconds since 1970 UTC.
  std::int64_t now = 0;
  std::vector<actor_view> actors{}; ///< In the order they were added; parents first.
  std::vector<pipeline_view> pipelines{};
};

/// The tree of actors, as indexes into `seen.actors`: those without a parent there, and those below
/// one of them.
[[nodiscard]] std::vector<std::size_t> roots_of(const board_view& seen);
[[nodiscard]] std::vector<std::size_t> children_of(const board_view& seen,
                                                   const actor_view& parent);

} // namespace cdc::actors
