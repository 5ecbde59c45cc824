#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/batch.hpp"
#include "messages/block.hpp"
#include "messages/checkpoint.hpp"
#include "messages/credit.hpp"
#include "messages/load.hpp"
#include "messages/snapshot.hpp"
#include "messages/target_table.hpp"

namespace cdc::engine {

struct engine_options {
  std::size_t batch_changes_max = 1000;
  std::size_t batch_bytes_max = 10'485'760;
  std::size_t batches_outstanding_max = 2; ///< sink::window().
  std::size_t map_bytes_max =
      std::size_t{32} << 20; ///< The load rule's entries; at the bound the map is begun anew.
  /// What the senders of blocks hold as credit, stream and load each. Once half of it is in a batch
  /// that still grows, the batch leaves when the sink is free: a sender without credit sends
  /// nothing.
  credit window{16, std::uint64_t{8} << 20};
};

/// Parts of the load rule that the simulation switches off, one at a time, to see that it would
/// notice. All on in every other build.
struct rule_switches {
  bool entry_waits_for_proof = true; ///< hole 1
  bool gate = true;                  ///< holes 2, 3
  bool gate_at_first_start = true;   ///< U begins with the slot's export
  bool gate_stored_with_checkpoint = true;
  bool gate_restored_is_stored_again = true;
  bool gate_left_by_proof_only = true;
  bool gate_counts_open_transaction = true;
  bool gate_grows_when_map_is_anew = true;
  bool gate_only_grows = true;
  bool entry_accumulates_cells = true;       ///< hole 4
  bool moved_row_takes_nothing_older = true; ///< hole 5
  bool rows_wait_for_log_end = true;         ///< hole 6
  bool truncate_leaves_gone = true;          ///< hole 7
  bool list_is_durable = true;               ///< hole 8
  bool list_before_progress = true;          ///< hole 8
  bool entry_waits_for_answers = true;       ///< hole 9
  bool list_closed_at_mark_acked = true;     ///< hole 9
  bool refetch_sees_first = true;            ///< hole 10
  bool range_open_before_snapshot = true;    ///< hole 11
  bool opaque_ranges_are_whole_table = true; ///< hole 15
  bool merged_version_is_highest = true;     ///< hole 14
  bool keyless_gate = true;                  ///< §1b
  bool keyless_pause = true;
  bool keyless_by_membership = true;
  bool keyless_snapshot_is_durable = true;
  bool keyless_empties_first = true;
};

/// The name of the record that holds a table's load progress (to_text of table_progress), and what
/// the records of a target say about one table.
[[nodiscard]] std::string progress_record(std::string_view target_name);
[[nodiscard]] result<std::optional<table_progress>> stored_progress(const sink_state& state,
                                                                    std::string_view target_name);

/// One table of this branch, as it stands at the start.
struct table_setup {
  target_table_ptr target;                ///< target->source is the shape of now.
  std::optional<table_progress> progress; ///< None: it has to be planned and loaded.
  std::uint32_t published_by = 0;         ///< As in table_progress, of now.
};

/// Where this life begins.
struct start_point {
  checkpoint from;       ///< The target's, or the slot's start at the first start.
  bool is_first = false; ///< No checkpoint yet: it is written at once.
  /// What no snapshot may miss, beside what the target's records say; asked for by
  /// needs_start_view(). First start: U of load-rule §1a (committed in the slot's export, not
  /// visible). Later: the list of a snapshot taken after a transaction of its own had ended (the
  /// plain form; table_reader::look()).
  std::vector<transaction_id> unproved;
};

/// True when start_point::unproved must be filled in: rows are still to be read, and the target's
/// records do not say which transactions those reads must have seen.
[[nodiscard]] bool needs_start_view(const sink_state& state, std::span<const table_setup> tables);

enum class verdict : std::uint8_t {
  accepted,
  not_yet, ///< The snapshot has not seen what it must (gate): close it, try again.
};

/// What happened in the engine that the load coordinator acts on.
struct news {
  enum class what : std::uint8_t {
    wave_durable, ///< Progress of the open wave is durable: the next may open.
    /// The map was begun anew: stop all readers; unfinished ranges are unopened, the wave is gone.
    /// A snapshot taken before this was said must not be handed over afterwards.
    ranges_void,
    stream_paused, ///< §1b: the stream stands; take the keyless table's snapshot now.
    refetch,       ///< `table` and `key` are listed: read_key() and hand it over.
    load_finished, ///< Every table's progress is finished and durable.
  };
  what kind = what::wave_durable;
  std::uint16_t table = 0;
  std::string key;
};

/// Row accounting; `read = written + filtered + superseded + quarantined` holds at every rest, for
/// stream and load apart.
struct accounting {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t merged = 0;   ///< Of written: copied rows completed by the stream's cells.
  std::uint64_t filtered = 0; ///< Of tables that no section takes, or skipped by §1b.
  std::uint64_t superseded =
      0; ///< Copied rows that the stream had overtaken; replays below the checkpoint.
  std::uint64_t quarantined = 0;
};

/// Decides what a target is told: stream and copied rows in, batches out, by load-rule.md. Pure: no
/// clock, no thread, no CAF; knows no source and no sink.
///
/// One per sink. Order of calls: the constructor, then any. next_batch() until it gives null after
/// each input. Errors are final: the pipeline is rebuilt from the checkpoint, and every later call
/// that can fail gives the same error. A stream that was held back goes on within the call that
/// ends the wait; what fails then is said by that call or by the next next_batch().
class engine {
public:
  engine(engine_options options, std::vector<table_setup> tables, const sink_state& state,
         start_point start, rule_switches rule = {});
  ~engine();
  engine(engine&&) noexcept;
  engine& operator=(engine&&) noexcept;

  // -- the stream -------------------------------------------------------------------------------

  /// Takes the next block of the log. It waits inside while the stream is paused or a shape is new.
  [[nodiscard]] result<void> stream(block_ptr next);

  /// A shape that arrived and has no target yet (drift, or a table seen first in the stream): make
  /// it, let the sink prepare() it, and provide it here; null for a table that no section takes.
  [[nodiscard]] relation_ptr unknown_shape() const;
  /// A target that was not among the tables at the start is errc::source_unavailable: it has to be
  /// loaded, and the pipeline that is rebuilt will have it.
  [[nodiscard]] result<void> provide(const relation_ptr& shape, target_table_ptr target);

  // -- the load ---------------------------------------------------------------------------------

  /// Sets what plan() found for a table that has no progress.
  void planned(std::uint16_t table, load_plan plan);

  /// Opens ranges for the rule, before any of their snapshots is taken. One wave at a time: one
  /// that is opened while another is read takes its place, and none may be opened between a wave's
  /// last end_range() and wave_durable. A wave holds ranges with keys, or exactly one keyless range
  /// (which also pauses the stream).
  void open_wave(std::span<const range_ref> ranges);
  [[nodiscard]] verdict hand_over(range_ref range, const snapshot& seen, position log_end);
  void rows(range_ref range, block_ptr copied); ///< Held until the stream has passed log_end.
  /// All its rows were handed over. Of a keyless range: only once the source's flush position has
  /// reached log_end and the reader's connection still stands (rows of a lost commit, reused xids).
  void end_range(range_ref range);
  void lose_range(range_ref range); ///< Its reader died: open again, new snapshot.

  /// A refetch's answer; null row: no such row. not_yet: read it again later.
  [[nodiscard]] verdict hand_over(std::uint16_t table, const std::string& key, const snapshot& seen,
                                  position log_end, block_ptr row);

  /// A snapshot read for its own sake.
  void prove(const snapshot& seen);
  /// True when a proof would let something leave: entries or gate transactions wait for one.
  [[nodiscard]] bool wants_proof() const;
  /// The highest log end that held rows wait for; none: nothing waits. (Then ask the source,
  /// nudge.)
  [[nodiscard]] std::optional<position> waits_for() const;

  [[nodiscard]] std::vector<news> take_news();

  // -- the sink ---------------------------------------------------------------------------------

  /// The next batch, or null: nothing to write, the sink is full, or it pays to wait for more.
  /// `source_is_empty`: nothing more is on its way, so a part batch should leave if the sink is
  /// free.
  [[nodiscard]] result<batch_ptr> next_batch(bool source_is_empty);
  /// The next batch that ends a transaction is durable, one without changes if need be. Nothing
  /// comes of it while nothing was acknowledged since the last durable one.
  void ask_durable();
  /// Batches complete in their order. errc::invariant_broken when durable <= acknowledged <=
  /// written would not hold, or when no such batch is out.
  [[nodiscard]] result<void> completed(const write_report& report);

  // -- what others ask --------------------------------------------------------------------------

  /// Credit of stream blocks (and, apart, of copied blocks) that nothing holds any more.
  [[nodiscard]] credit take_stream_credit();
  [[nodiscard]] credit take_load_credit();

  [[nodiscard]] checkpoint written() const noexcept;      ///< Highest sent to the sink.
  [[nodiscard]] checkpoint acknowledged() const noexcept; ///< Highest the sink took.
  [[nodiscard]] position durable() const noexcept;        ///< Highest that survives a power loss.
  [[nodiscard]] position passed() const noexcept; ///< Everything of the log below it was seen.
  [[nodiscard]] std::size_t outstanding() const noexcept; ///< Batches at the sink.
  [[nodiscard]] bool inside_transaction() const noexcept; ///< The sink holds one open.
  [[nodiscard]] bool load_finished() const noexcept;
  [[nodiscard]] const accounting& streamed() const noexcept;
  [[nodiscard]] const accounting& copied() const noexcept;
  [[nodiscard]] table_progress progress(std::uint16_t table) const;
  [[nodiscard]] std::size_t entries() const noexcept;
  [[nodiscard]] std::size_t listed() const noexcept;

private:
  class state;
  std::unique_ptr<state> state_;
};

} // namespace cdc::engine
