#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "messages/credit.hpp"
#include "tests/simulation/coordinator.hpp"
#include "tests/simulation/log_reader.hpp"
#include "tests/simulation/options.hpp"
#include "tests/simulation/source.hpp"
#include "tests/simulation/story.hpp"
#include "tests/simulation/target.hpp"

namespace cdc::simulation {

/// One thing that happens, and what decides how.
struct step {
  happening what = happening::begin;
  source::arguments how{};
};

/// A source, a target, and the real engine between them in a process that may die at any step.
///
/// What must hold is looked at after every step: the three inequalities, and, whenever the target
/// commits, that every finished row equals the source at the checkpoint. The first thing found
/// wrong stays in wrong().
class world {
public:
  world(const options& how, const engine::rule_switches& rule, story& told);

  /// Does one thing; false: it cannot happen now, and nothing has changed.
  bool take(const step& next);
  /// No more crashes: all ends by itself, and the target must equal the source.
  void finish();

  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  /// Of the life that is; null before the first start.
  [[nodiscard]] const engine::engine* engine() const {
    return life_ == nullptr ? nullptr : &life_->engine;
  }

  /// How often something rare happened.
  struct tally {
    std::uint32_t crashes = 0;
    std::uint32_t power_cuts = 0;
    std::uint32_t late = 0;   ///< Something of a dead process arrived.
    std::uint32_t pieces = 0; ///< Batches that left a transaction open.
    std::uint32_t merged = 0;
    std::uint32_t superseded = 0;
    coordinator::tally load;
  };
  [[nodiscard]] tally counts() const;

private:
  /// What a crash takes away.
  struct life {
    life(engine::engine made, log_reader reads) : engine(std::move(made)), log(std::move(reads)) {}
    engine::engine engine;
    log_reader log;
    std::unique_ptr<coordinator> load;
    std::deque<engine::news> said; ///< Not heard of yet.
    position from;                 ///< Where the engine began.
    credit_window stream_window{{1, 1}};
    position written;
    position acknowledged;
  };

  bool happen(const step& next);
  void start();
  bool stream(std::size_t rows);
  bool advance();
  bool work(std::uint8_t which);
  bool report();
  bool hear();
  [[nodiscard]] bool is_taken(std::size_t table) const;
  bool late(std::uint8_t which);
  bool confirm();
  void crash(std::uint8_t last_writes, bool power_is_lost);
  [[nodiscard]] engine::start_point start_point(const sink_state& state,
                                                const std::vector<engine::table_setup>& tables);

  /// Lets the engine's output out: news, batches, credit, shapes.
  void settle(bool source_is_empty, bool provides);
  void push_all();
  bool push_one();

  void check_positions();
  void check_rows();
  void check_table(std::size_t table, const contents& wanted);
  void check_end();
  void check_accounts();
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (!wrong_.empty())
      return;
    wrong_ = fmt::format(format, std::forward<Args>(args)...);
    story_.say("WRONG: {}", wrong_);
  }
  template <class T>
  bool accept(const result<T>& from) {
    if (!from)
      fail("the engine: {}: {}", to_string(from.error().code), from.error().detail);
    return from.has_value();
  }

  options options_;
  engine::rule_switches rule_;
  story& story_;
  source source_;
  std::unique_ptr<target> target_;
  std::unique_ptr<life> life_;
  position slot_; ///< Where the log may be read from: what was confirmed last.
  std::array<std::pair<std::string, table_progress>, tables_max> progress_; ///< As last parsed.
  std::uint32_t lives_ = 0;
  std::string wrong_;
  tally tally_;
};

} // namespace cdc::simulation
