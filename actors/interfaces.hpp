#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>

#include "engine/engine.hpp"
#include "messages/type_ids.hpp"
#include "sources/source.hpp"

/// Every conversation of a pipeline, on one page.
///
///                 shipment                    work
///   source ───────────────────▶ engine ─────────────────▶ sink
///     ▲    ◀─────────────────    ▲  │   ◀─────────────────
///     │        repayment         │  │       write_report
///     │                          │  └─ positions ─▶ checkpoint ─ confirmation ─▶ source
///     │ position_wanted          │ wave, range_view, range_rows, range_end, found_key, proof
///     └───────────────── load coordinator ◀── load_news ── engine
///                              │ range_order, rows_wanted, … ▲ rows_read
///                              └────────▶ reader ────────────┘
///
/// All of it carries the incarnation it belongs to: what an earlier life sent is dropped and
/// counted.
namespace cdc::actors {

/// One life of a pipeline between two rebuilds: 1, 2, 3 …
using incarnation = std::uint64_t;

// -- source, engine
// ---------------------------------------------------------------------------------

/// The next block of the log. Needs credit. Null rows: nothing new, but the source is empty now.
struct shipment {
  incarnation life = 0;
  block_ptr rows;
  bool source_is_empty = false;
  std::chrono::steady_clock::time_point decoded{};
};

/// Credit of blocks that a branch no longer holds.
struct repayment {
  incarnation life = 0;
  std::uint16_t branch = 0;
  credit back;
};

/// Durable at every target: the source may let go of what lies before.
struct confirmation {
  incarnation life = 0;
  position durable;
};

/// Ask the server how far its log is; it comes as an `advance` event.
struct position_wanted {
  incarnation life = 0;
};

/// Read no more, but answer the server until the exit.
struct quiet {
  incarnation life = 0;
};

/// Reads one log on its own thread. A blocking actor, so its messages are not typed: repayment,
/// confirmation, position_wanted, quiet.
using source_actor = caf::actor;

// -- engine, sink
// -----------------------------------------------------------------------------------

struct work {
  incarnation life = 0;
  batch_ptr what;
};

struct new_shapes {
  incarnation life = 0;
  std::vector<target_table_ptr> tables;
};

/// What a sink's completion sends home to its actor.
struct written {
  incarnation life = 0;
  result<write_report> report;
};

struct prepared {
  incarnation life = 0;
  result<void> done;
};

/// Writes to one target.
using sink_actor = caf::typed_actor<
    // Write this after all before it. A failure is the actor's end.
    caf::replies_to<work>::with<write_report>,
    // Make the target fit for these tables; nothing is outstanding.
    caf::replies_to<new_shapes>::with<done_atom>,
    // The target has answered for its oldest batch; shapes are ready, or are not.
    caf::reacts_to<written>, caf::reacts_to<prepared>>;

// -- engine, checkpoint
// -----------------------------------------------------------------------------

/// Where one branch stands. Ascending.
struct positions {
  incarnation life = 0;
  std::uint16_t branch = 0;
  position written;
  position acknowledged;
  position durable;
  std::int64_t commit_time = 0; ///< Of the transaction that ends at `acknowledged`; 0: none.
};

/// Ask the target to make durable what it has taken.
struct durable_wanted {
  incarnation life = 0;
};

/// Decides what the source may let go of.
using checkpoint_actor = caf::typed_actor<
    // A branch has moved.
    caf::reacts_to<positions>,
    // The interval is over.
    caf::reacts_to<tick_atom>,
    // Answers once all that was durable until now is confirmed to the source.
    caf::replies_to<finish_atom>::with<done_atom>>;

// -- load coordinator, reader
// -----------------------------------------------------------------------

/// Names one attempt at one range, so that rows of an abandoned one are told apart.
using attempt = std::uint64_t;

/// Take a snapshot for a range. Answered with sources::view.
struct range_order {
  attempt number = 0;
  relation_ptr table;
  load_plan plan;
  std::uint32_t range = 0;
};

/// The open range's rows are wanted: so many blocks more, each sent as rows_read.
struct rows_wanted {
  attempt number = 0;
  std::uint32_t blocks = 0;
};

/// End the open range's transaction, read to its end or not. Answered with done_atom.
struct range_close {
  attempt number = 0;
};

/// Null rows: the range is at its end; its transaction still stands.
struct rows_read {
  attempt number = 0;
  block_ptr rows;
};

struct range_failed {
  attempt number = 0;
  error why;
};

/// Each answered with what sources::table_reader says of it.
struct plan_order {
  relation_ptr table;
  std::uint32_t chunk_rows = 0;
};
struct key_order {
  relation_ptr table;
  std::string key;
};
struct look_order {};
struct pressure_order {};
struct nudge_order {};

/// Answered with shape_found, as a message of its own: a source does not wait for it.
struct shape_order {
  std::uint32_t oid = 0;
};
struct shape_found {
  std::uint32_t oid = 0;
  result<relation_ptr> shape;
};

/// Reads tables over one connection on its own thread. A blocking actor: the orders above.
using reader_actor = caf::actor;

// -- engine, load coordinator
// -----------------------------------------------------------------------

/// How often the engine has begun its map anew. What the coordinator says of an earlier era is
/// void.
using era = std::uint32_t;

struct table_plan {
  incarnation life = 0;
  std::uint16_t table = 0;
  load_plan plan;
};

struct wave {
  incarnation life = 0;
  era of = 0;
  std::vector<range_ref> ranges;
};

/// A reader has a snapshot for a range.
struct range_view {
  incarnation life = 0;
  era of = 0;
  range_ref range;
  sources::view view;
};

/// Needs credit of the load's window.
struct range_rows {
  incarnation life = 0;
  era of = 0;
  range_ref range;
  block_ptr rows;
};

struct range_end {
  incarnation life = 0;
  era of = 0;
  range_ref range;
  bool lost = false; ///< Its reader failed: the range will be read again.
};

struct found_key {
  incarnation life = 0;
  std::uint16_t table = 0;
  std::string key;
  sources::table_reader::found_row found;
};

struct proof {
  incarnation life = 0;
  snapshot seen;
};

/// What the coordinator acts on. Sent when any of it has changed.
struct load_news {
  incarnation life = 0;
  era now = 0;
  std::vector<engine::news> events;
  credit back;                       ///< Of the load's window.
  std::optional<position> waits_for; ///< Held rows wait for the stream to pass this.
  bool wants_proof = false;
};

/// To the supervisor: every table of this branch is loaded, and durably so.
struct branch_loaded {
  incarnation life = 0;
  std::uint16_t branch = 0;
};

/// Runs the initial load of one branch.
using load_coordinator_actor = caf::typed_actor<
    // The engine has something to say.
    caf::reacts_to<load_news>,
    // A reader has rows, or the range's end.
    caf::reacts_to<rows_read>,
    // A reader could not go on.
    caf::reacts_to<range_failed>,
    // Look again at what waits for a time.
    caf::reacts_to<tick_atom>>;

/// Decides what one target is told.
using engine_actor = caf::typed_actor<
    // Take the next of the log; its credit comes back to the sender.
    caf::reacts_to<shipment>,
    // The inputs of the load rule. A wave is answered once its ranges are open; no snapshot for
    // them may be taken before.
    caf::reacts_to<table_plan>, caf::replies_to<wave>::with<done_atom>,
    caf::replies_to<range_view>::with<engine::verdict>, caf::reacts_to<range_rows>,
    caf::reacts_to<range_end>, caf::replies_to<found_key>::with<engine::verdict>,
    caf::reacts_to<proof>,
    // Who hears load_news and positions.
    caf::reacts_to<load_coordinator_actor>, caf::reacts_to<checkpoint_actor>,
    // Ask the target to make durable what it has taken.
    caf::reacts_to<durable_wanted>,
    // Take nothing more; answers when the target has all it was given, durably if that can be.
    caf::replies_to<finish_atom>::with<done_atom>>;

} // namespace cdc::actors

#define CDC_IN_PROCESS(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cdc::type)
CDC_IN_PROCESS(actors::shipment)
CDC_IN_PROCESS(actors::repayment)
CDC_IN_PROCESS(actors::confirmation)
CDC_IN_PROCESS(actors::position_wanted)
CDC_IN_PROCESS(actors::quiet)
CDC_IN_PROCESS(actors::work)
CDC_IN_PROCESS(actors::new_shapes)
CDC_IN_PROCESS(actors::written)
CDC_IN_PROCESS(actors::prepared)
CDC_IN_PROCESS(actors::positions)
CDC_IN_PROCESS(actors::table_plan)
CDC_IN_PROCESS(actors::wave)
CDC_IN_PROCESS(actors::range_view)
CDC_IN_PROCESS(actors::range_rows)
CDC_IN_PROCESS(actors::range_end)
CDC_IN_PROCESS(actors::found_key)
CDC_IN_PROCESS(actors::proof)
CDC_IN_PROCESS(actors::load_news)
CDC_IN_PROCESS(actors::branch_loaded)
CDC_IN_PROCESS(actors::durable_wanted)
CDC_IN_PROCESS(actors::range_order)
CDC_IN_PROCESS(actors::rows_wanted)
CDC_IN_PROCESS(actors::range_close)
CDC_IN_PROCESS(actors::rows_read)
CDC_IN_PROCESS(actors::range_failed)
CDC_IN_PROCESS(actors::plan_order)
CDC_IN_PROCESS(actors::key_order)
CDC_IN_PROCESS(actors::look_order)
CDC_IN_PROCESS(actors::pressure_order)
CDC_IN_PROCESS(actors::nudge_order)
CDC_IN_PROCESS(actors::shape_order)
CDC_IN_PROCESS(actors::shape_found)
CDC_IN_PROCESS(engine::verdict)
CDC_IN_PROCESS(sources::view)
CDC_IN_PROCESS(sources::log_pressure)
CDC_IN_PROCESS(sources::table_reader::found_row)
CDC_IN_PROCESS(load_plan)
CDC_IN_PROCESS(snapshot)
CDC_IN_PROCESS(relation_ptr)
#undef CDC_IN_PROCESS
