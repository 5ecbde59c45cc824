#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/backoff.hpp"
#include "actors/board.hpp"
#include "actors/interfaces.hpp"

namespace cdc::actors {

struct errand_options {
  incarnation life = 0;
  std::vector<relation_ptr> shapes;
  std::chrono::milliseconds nudge_after{3};
  std::chrono::milliseconds pressure_interval{5000}; ///< While ranges are read; else twice that.
  std::string slot;                                  ///< Shown with what it holds back.
  static_text pressure_words = "";                   ///< Why the load stands still under pressure.
  std::shared_ptr<sink_stats> counts;
  std::shared_ptr<pipeline_stats> pipeline_counts;
};

/// What a load coordinator does beside its ranges, over the one connection that never has a range
/// open: makes the stream pass what held rows wait for, takes snapshots as proofs, reads listed
/// rows by key, and watches what the source's log holds back.
///
/// Part of its coordinator: runs in its handlers, and is asked again at due().
class load_errands {
public:
  using clock = std::chrono::steady_clock;

  load_errands(load_coordinator_actor::pointer self, engine_actor engine, source_actor source,
               reader_actor desk, errand_options options);

  /// What the engine says now.
  void wait_for(std::optional<position> log_end);
  void want_proof(bool wanted);
  void read_again(std::uint16_t table, std::string key);

  /// Does what is due. `is_loading`: while ranges are being read.
  void run(clock::time_point now, bool is_loading);
  /// When there is something to do again; none: nothing is on a timer.
  [[nodiscard]] std::optional<clock::time_point> due() const;

  /// The log holds back more than it should: read no more for now.
  [[nodiscard]] bool is_under_pressure() const noexcept { return is_under_pressure_; }
  [[nodiscard]] bool reads_keys() const noexcept { return !listed_.empty() || reading_ > 0; }

  /// Makes the source's log move and be flushed; `then` runs when it has.
  void nudge(const std::function<void()>& then);

  /// Runs after each answer, with null, or with what went wrong.
  std::function<void(const error*)> answered = [](const error*) {};

private:
  struct listed_row {
    std::uint16_t table = 0;
    std::string key;
    backoff patience{std::chrono::milliseconds{5}, std::chrono::milliseconds{1000}};
  };

  void hasten(clock::time_point now);
  void look(clock::time_point now);
  void read_rows(clock::time_point now);
  void read(const listed_row& row);
  void offer(const listed_row& row, sources::table_reader::found_row found);
  void read_later(listed_row row);
  void watch_pressure(clock::time_point now);
  void on_pressure(const sources::log_pressure& seen);
  void show_slot(const sources::log_pressure& seen);
  [[nodiscard]] bool watches_pressure() const noexcept {
    return is_loading_ || !options_.slot.empty();
  }
  void on_error(const caf::error& why);

  load_coordinator_actor::pointer self_;
  engine_actor engine_;
  source_actor source_;
  reader_actor desk_;
  errand_options options_;

  std::optional<position> waits_for_;
  clock::time_point nudge_due_ = clock::time_point::max();
  bool is_nudging_ = false;

  bool wants_proof_ = false;
  bool is_looking_ = false;
  clock::time_point proof_due_{};
  backoff proof_patience_{std::chrono::milliseconds{10}, std::chrono::milliseconds{1000}};

  std::multimap<clock::time_point, listed_row> listed_; ///< By when they are due.
  std::size_t reading_ = 0;

  bool is_loading_ = false;
  bool is_asking_pressure_ = false;
  bool is_under_pressure_ = false;
  clock::time_point pressure_due_{};
};

} // namespace cdc::actors
