#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/board_view.hpp"
#include "messages/credit.hpp"
#include "messages/error.hpp"
#include "messages/histogram.hpp"
#include "messages/position.hpp"

namespace cdc::actors {

/// Text that lives as long as the program; only a literal becomes one.
class static_text {
public:
  consteval static_text(const char* literal) : text_(literal) {}
  [[nodiscard]] constexpr const char* get() const noexcept { return text_; }

private:
  const char* text_;
};

/// An error that anyone may read and few ever write: the one lock on the board.
class error_note {
public:
  explicit error_note(error_view last = {}) : last_(std::move(last)) {}

  void set(std::string_view text);
  [[nodiscard]] error_view get() const;

private:
  mutable std::mutex guard_;
  error_view last_;
};

/// A credit that its owner sets and anyone reads.
class credit_gauge {
public:
  void set(credit now) noexcept {
    blocks_.store(now.blocks, std::memory_order_relaxed);
    bytes_.store(now.bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] credit get() const noexcept {
    return {blocks_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed)};
  }

private:
  std::atomic<std::uint32_t> blocks_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

/// What an actor lets others see. Written by that actor alone, read by any thread without a lock
/// (but for `about` and the last error, which change rarely).
class actor_stats {
public:
  struct identity {
    std::uint64_t id = 0;
    std::uint64_t parent = 0;
    std::string name;
    actor_kind kind = actor_kind::root;
    std::string node;
    std::string pipeline;
    std::uint64_t incarnation = 0;
  };
  actor_stats(identity who, std::uint64_t restarts, error_view last_error);

  [[nodiscard]] const identity& who() const noexcept { return who_; }

  void running() noexcept { enter(actor_state::running); }
  void stopping() noexcept { enter(actor_state::stopping); }
  void stopped() noexcept; ///< Ended as it was asked to.
  void failed(const error& why);

  /// A word or two: "waits for credit", "reads a range".
  void doing(static_text what) noexcept { doing_.store(what.get(), std::memory_order_relaxed); }
  /// What it does that to. Takes a lock and allocates: not per block.
  void about(std::string what);

  void mailbox(std::size_t depth) noexcept;
  void held(credit may_send) noexcept { held_.set(may_send); }
  void owed(credit taken) noexcept { owed_.set(taken); }
  void in_flight(std::uint64_t bytes) noexcept {
    in_flight_.store(bytes, std::memory_order_relaxed);
  }
  /// Data to send and no credit for it. The stage behind the last starved one is the bottleneck.
  void starved(bool is_so) noexcept;

  [[nodiscard]] actor_state state() const noexcept {
    return state_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] actor_view view() const;

private:
  friend class handler_scope;
  void enter(actor_state next) noexcept { state_.store(next, std::memory_order_relaxed); }

  const identity who_;
  const std::uint64_t restarts_;
  std::atomic<actor_state> state_{actor_state::starting};
  std::atomic<std::uint64_t> messages_{0};
  std::atomic<std::uint32_t> mailbox_{0};
  std::atomic<std::uint32_t> mailbox_max_{0};
  std::atomic<std::int64_t> in_handler_since_{0}; ///< steady_clock, ns; 0: not in one.
  std::atomic<std::int64_t> busy_{0};
  std::atomic<std::int64_t> starved_since_{0};
  std::atomic<std::int64_t> starved_{0};
  std::atomic<const char*> doing_{""};
  credit_gauge held_;
  credit_gauge owed_;
  std::atomic<std::uint64_t> in_flight_{0};
  error_note last_error_;
  mutable std::mutex about_guard_;
  std::string about_;
};

/// Marks a handler's time: one at the top of each handler, or of each turn of a blocking loop.
class handler_scope {
public:
  explicit handler_scope(actor_stats& of) noexcept;
  ~handler_scope();
  handler_scope(const handler_scope&) = delete;
  handler_scope& operator=(const handler_scope&) = delete;

private:
  actor_stats& of_;
  std::int64_t since_;
};

using counter = std::atomic<std::uint64_t>;

/// Row accounting that its engine stores as a whole and anyone reads.
class rows_gauge {
public:
  void set(const rows_view& now) noexcept;
  [[nodiscard]] rows_view get() const noexcept;

private:
  counter read_{0}, written_{0}, merged_{0}, filtered_{0}, superseded_{0}, quarantined_{0};
};

/// One table's load into one sink. The names are fixed; the rest is set by the load coordinator.
struct table_stats {
  table_stats(std::string table, std::string into_sink)
      : name(std::move(table)), sink(std::move(into_sink)) {}

  const std::string name;
  const std::string sink;
  counter rows{0};
  counter rows_estimate{0};
  std::atomic<std::uint32_t> ranges_done{0};
  std::atomic<std::uint32_t> ranges{0};

  void starts_loading() noexcept;
  void loaded() noexcept;
  void waits() noexcept;

  [[nodiscard]] table_view view() const;

private:
  std::atomic<table_state> state_{table_state::waiting};
  std::atomic<std::int64_t> started_{0};
  std::atomic<std::int64_t> finished_{0};
};

/// One sink of one pipeline, over all incarnations.
struct sink_stats {
  sink_stats(std::string sink_name, std::string of_flavor)
      : name(std::move(sink_name)), flavor(std::move(of_flavor)) {}

  const std::string name;
  const std::string flavor;
  rows_gauge streamed;
  rows_gauge copied;
  counter batches_flushed{0};
  counter errors{0};
  counter refused{0};
  counter refetch_listed{0};
  counter refetched{0};
  counter entries{0};
  counter durable{0};      ///< position::token.
  histogram decode_to_ack; ///< Seconds from a block's decoding to its acknowledgement.
  histogram commit_to_ack; ///< Seconds from the source's commit to the acknowledgement.
  histogram batch_write;   ///< Seconds a write to the target took.
  const std::shared_ptr<sinks::target_gauges> target = std::make_shared<sinks::target_gauges>();

  /// `commit_time`: of the transaction that ends at `reached`, µs UTC; 0 when it is none.
  void acknowledged(position reached, std::int64_t commit_time) noexcept;

  [[nodiscard]] sink_view view() const;

private:
  counter acknowledged_{0};
  std::atomic<std::int64_t> acknowledged_commit_{0};
};

/// One pipeline, over all its incarnations. Counters only grow. What has no lock may be written per
/// block; what says "takes a lock" is for rare things.
class pipeline_stats {
public:
  pipeline_stats(std::string name, std::string flavor, position_speller spell = spell_token);

  const std::string name;   ///< The `source` label of every metric.
  const std::string flavor; ///< `postgres`.
  const position_speller spell;

  void enter(pipeline_state next) noexcept { state_.store(next, std::memory_order_relaxed); }
  [[nodiscard]] pipeline_state state() const noexcept {
    return state_.load(std::memory_order_relaxed);
  }

  counter incarnation{0};
  std::atomic<bool> is_connected{false};
  std::atomic<bool> load_finished{false};
  std::atomic<bool> is_catching_up{false};
  counter events_row{0};
  counter events_truncate{0};
  counter transactions{0};
  counter stream_bytes{0};
  counter reconnects{0};
  counter catch_ups{0};

  // Positions, as tokens.
  counter current{0}; ///< The log's end, as the source last said.
  counter durable{0}; ///< Reported to the source.

  /// A commit was decoded: its end, and when the source says it happened (µs UTC; 0: no commit, the
  /// log only advanced).
  void received(position end, std::int64_t commit_time) noexcept;
  /// Every sink acknowledged everything below.
  void confirmed(position end, std::int64_t commit_time) noexcept;

  /// Why the load stands still, or "".
  void load_paused(static_text why) noexcept {
    paused_.store(why.get(), std::memory_order_relaxed);
  }

  /// All of these take a lock.
  void failed(const error& why);
  void reading_noted(std::string_view text) { reading_note_.set(text); }
  void drifted(const std::string& table);
  void slots(std::vector<slot_view> seen);
  /// The table or sink of that name, made when it is new; its owner keeps the pointer.
  [[nodiscard]] std::shared_ptr<table_stats> table(const std::string& table,
                                                   const std::string& sink);
  [[nodiscard]] std::shared_ptr<sink_stats> sink(const std::string& sink_name,
                                                 const std::string& of_flavor);

  [[nodiscard]] position confirmed_end() const noexcept {
    return {confirmed_.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] std::vector<std::shared_ptr<sink_stats>> all_sinks() const;

  /// `now`: µs since 1970 UTC.
  [[nodiscard]] pipeline_view view(std::int64_t now) const;

private:
  void view_counters(pipeline_view& into) const;
  void view_lag(pipeline_view& into, std::int64_t now) const;

  std::atomic<pipeline_state> state_{pipeline_state::starting};
  std::atomic<const char*> paused_{""};
  counter received_{0};
  counter confirmed_{0};
  std::atomic<std::int64_t> confirmed_commit_{0};
  counter last_commit_end_{0}; ///< Of the last commit received.
  std::atomic<std::int64_t> oldest_open_commit_{
      0}; ///< Time of the first one received since in step.
  error_note last_error_;
  error_note reading_note_;
  mutable std::mutex guard_;
  std::vector<std::shared_ptr<table_stats>> tables_;
  std::vector<std::shared_ptr<sink_stats>> sinks_;
  std::vector<slot_view> slots_;
  std::vector<drift_view> drift_;
};

/// Where actors show themselves: what is seen from outside is read here and never asked of an
/// actor, so it is answered when the scheduler is saturated, too. Any thread; the lock guards the
/// lists, not what is counted.
class board {
public:
  board(std::string node, std::string version);

  /// An actor's place, under `parent` (null: a root). A name is given once in a pipeline: the next
  /// life of an actor takes its place and its id, keeps its last error and counts one restart more.
  [[nodiscard]] std::shared_ptr<actor_stats> add(actor_kind kind, std::string name,
                                                 const std::shared_ptr<actor_stats>& parent = {},
                                                 std::string pipeline = {},
                                                 std::uint64_t incarnation = 0);
  /// Takes an actor (and all below it) off the board, for those that come and go, as readers do.
  void remove(const std::shared_ptr<actor_stats>& gone);

  /// The pipeline of that name, made when it is new.
  [[nodiscard]] std::shared_ptr<pipeline_stats> pipeline(const std::string& name,
                                                         const std::string& flavor = "postgres",
                                                         position_speller spell = spell_token);
  void remove_pipeline(const std::string& name);
  /// Null: there is none of that name.
  [[nodiscard]] std::shared_ptr<pipeline_stats> find_pipeline(const std::string& name) const;

  [[nodiscard]] board_view view() const;

private:
  const std::string node_;
  const std::string version_;
  const std::int64_t started_;
  mutable std::mutex guard_;
  std::uint64_t next_id_ = 1;
  std::vector<std::shared_ptr<actor_stats>> actors_;
  std::vector<std::shared_ptr<pipeline_stats>> pipelines_;
};

/// Microseconds since 1970 UTC, now.
[[nodiscard]] std::int64_t utc_now() noexcept;

} // namespace cdc::actors
