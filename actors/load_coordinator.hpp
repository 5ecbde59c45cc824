#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/typed_event_based_actor.hpp>

#include "actors/backoff.hpp"
#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/interfaces.hpp"
#include "actors/load_errands.hpp"
#include "actors/token_bucket.hpp"
#include "actors/wave_plan.hpp"
#include "messages/credit.hpp"

namespace cdc::actors {

struct load_options {
  incarnation life = 0;
  std::uint16_t branch = 0;
  credit window{16, std::uint64_t{8} << 20}; ///< Of the hop to the engine.
  std::uint32_t blocks_ahead = 4;            ///< Each reader may send before they are passed on.
  std::uint32_t chunk_rows = 50'000;
  wave_limits wave;
  std::optional<std::uint32_t> rows_per_second;
  std::chrono::milliseconds pressure_interval{5000};
  std::uint32_t failures_max = 8; ///< Of readers, in a row.
  std::string pipeline;
  std::string sink;
  std::string slot; ///< Shown with what it holds back; empty: another coordinator does.
  static_text pressure_words = "";  ///< Why the load stands still under pressure.
  std::vector<relation_ptr> shapes; ///< Of the engine's tables, in their order.
  std::vector<bool>
      keyless; ///< Those that are read whole, whatever the source's key; may be short.
  std::vector<std::optional<table_progress>> progress;
  caf::actor supervisor; ///< Hears branch_loaded. May be null.
  std::shared_ptr<actor_stats> stats;
  std::shared_ptr<sink_stats> counts;
  std::shared_ptr<pipeline_stats> pipeline_counts;
};

/// Who a coordinator works with.
struct load_crew {
  engine_actor engine;
  source_actor source;
  reader_actor desk;                 ///< Never has a range open: looks, nudges, reads by key.
  std::vector<reader_actor> readers; ///< One a range at a time. Empty: there is nothing to load.
};

/// Runs the initial load of one branch, and for ever after what the engine wants read again.
///
/// A range's life: its wave is open in the engine → a reader takes a snapshot → the engine accepts
/// it, or says not yet → rows pass under credit → the reader's transaction ends → the engine hears
/// of the end. A reader that fails begins its range anew.
class load_coordinator {
public:
  static constexpr const char* name = "cdc.load";

  explicit load_coordinator(load_coordinator_actor::pointer self) : self_(self) {}

  load_coordinator_actor::behavior_type start(load_crew crew, load_options options);

private:
  using clock = std::chrono::steady_clock;

  struct range_reader {
    enum class step : std::uint8_t {
      idle,
      planning,
      opening, ///< Takes its snapshot.
      offered, ///< The engine judges it.
      copying,
      ending,  ///< At its end; its transaction is being closed.
      leaving, ///< Its range is dropped; its transaction is being closed.
      resting, ///< Until `until`.
    };
    reader_actor who;
    step at = step::idle;
    attempt number = 0; ///< Of its present range.
    range_ref range;
    era of = 0;
    std::uint32_t wanted = 0; ///< Blocks it may still send, or that wait here.
    clock::time_point until{};
    backoff patience{std::chrono::milliseconds{5}, std::chrono::milliseconds{1000}};
  };
  struct held_rows {
    std::size_t reader = 0;
    attempt number = 0;
    block_ptr rows; ///< Null: the range's end.
  };
  // What the engine and the readers say.
  void on_news(const load_news& news);
  void on_event(const engine::news& event);
  void on_rows(const rows_read& read);
  void on_range_failed(const range_failed& failed);

  // Plans and waves. A reader goes by its index.
  void open_wave();
  void give_orders();
  void order_plan(std::size_t to, std::uint16_t table);
  void order_range(std::size_t to, range_ref range);
  void on_view(std::size_t from, attempt number, const sources::view& view);
  void on_verdict(std::size_t from, attempt number, engine::verdict verdict);
  void on_failure(std::size_t from, attempt number, const error& why);
  void void_ranges();

  // Rows.
  void want_more(range_reader& from);
  void pass_rows();
  void end_range(std::size_t from);
  void close_range(std::size_t from);
  void leave(std::size_t from, std::chrono::milliseconds pause);
  void rest(range_reader& who, std::chrono::milliseconds span);
  void drop_held(attempt number);

  void pump();
  void finish_load();
  void arm();
  void note_failure(const error& why);
  void show_table(std::uint16_t table);
  void show();
  [[nodiscard]] bool is_loading() const noexcept { return !readers_.empty(); }
  [[nodiscard]] clock::time_point now() const;
  [[nodiscard]] range_reader* find(attempt number) noexcept;

  load_coordinator_actor::pointer self_;
  load_crew crew_;
  load_options options_;

  wave_plan plan_;
  std::deque<range_ref> unordered_; ///< Of the open wave, not given to a reader.
  bool wave_opens_ = false;         ///< Asked for, not answered.
  bool stream_is_paused_ = false;   ///< For the keyless range of the open wave.
  std::vector<range_reader> readers_;
  attempt last_attempt_ = 0;
  std::deque<held_rows> held_; ///< Read, and waiting for credit.
  credit_window window_{{1, 1}};
  token_bucket pace_{std::nullopt};
  std::uint32_t failures_ = 0;
  backoff recovery_{std::chrono::milliseconds{100}, std::chrono::milliseconds{5000}};

  era era_ = 0;
  clock::time_point due_ = clock::time_point::max(); ///< Of the tick that is on its way.
  std::optional<load_errands> errands_;
  bool is_announced_ = false;
  std::vector<std::shared_ptr<table_stats>> tables_;
};

/// Spawn with `system.spawn(load_behavior, crew, options)`.
load_coordinator_actor::behavior_type
load_behavior(load_coordinator_actor::stateful_pointer<load_coordinator> self, load_crew crew,
              load_options options);

} // namespace cdc::actors
