#include "actors/load_coordinator.hpp"

#include <map>

#include <gtest/gtest.h>

#include "actors/engine_actor.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/unit/engine/memory_target.hpp"
#include "tests/unit/engine/script.hpp"

namespace cdc::actors {

namespace {

using namespace std::chrono_literals;
using engine::test::row;
using engine::test::script;

/// A source whose log is `end` long and whose tables hold still.
struct source_double {
  std::map<std::string, std::vector<row>> tables;
  load_plan plan;
  std::uint64_t log_end = 100;
  snapshot sees{.xmin = 1000, .xmax = 1000, .in_progress = {}};
  sources::log_pressure pressure{sources::log_pressure::state::reserved, 0};

  int failures = 0; ///< So many ranges still fail in the middle.
  int opened = 0;
  int open_now = 0;
  int open_most = 0;
  int looks = 0;
  int nudges = 0;
  int asked_for_position = 0;
  int keys_read = 0;
};

/// A reader as the coordinator knows it, without a thread.
class reader_double {
public:
  static constexpr const char* name = "test.reader";
  reader_double() = default;
  reader_double(caf::event_based_actor* self, source_double* from) : self_(self), from_(from) {}

  caf::behavior behavior() {
    return {
        [this](const plan_order&) { return from_->plan; },
        [this](const range_order& order) {
          coordinator_ = caf::actor_cast<load_coordinator_actor>(self_->current_sender());
          number_ = order.number;
          block_ = 0;
          shape_ = order.table;
          range_ = order.range;
          ++from_->opened;
          from_->open_most = std::max(from_->open_most, ++from_->open_now);
          return sources::view{from_->sees, position{from_->log_end}};
        },
        [this](const rows_wanted& more) {
          if (more.number == number_)
            for (std::uint32_t i = 0; i < more.blocks; ++i)
              send_next();
        },
        [this](const range_close& order) {
          if (order.number == number_) {
            number_ = 0;
            --from_->open_now;
          }
          return done_atom_v;
        },
        [this](const key_order& order) { return found(order); },
        [this](const look_order&) {
          ++from_->looks;
          return from_->sees;
        },
        [this](const pressure_order&) { return from_->pressure; },
        [this](const nudge_order&) {
          ++from_->nudges;
          return done_atom_v;
        },
    };
  }

private:
  // A block a row; the rows of a table are dealt out to its ranges by their key's last digit.
  void send_next() {
    if (from_->failures > 0 && block_ == 1) {
      --from_->failures;
      --from_->open_now;
      caf::anon_send(caf::actor_cast<caf::actor>(coordinator_),
                     range_failed{number_, {errc::source_unavailable, "cut"}});
      number_ = 0;
      return;
    }
    const auto rows = mine();
    auto next = block_ < rows.size() ? script{shape_}.copy(rows[block_]).take() : block_ptr{};
    ++block_;
    caf::anon_send(caf::actor_cast<caf::actor>(coordinator_), rows_read{number_, std::move(next)});
  }

  std::vector<row> mine() const {
    const auto& bounds = from_->plan.ranges[range_];
    std::vector<row> out;
    for (const auto& each : from_->tables[shape_->table.name]) {
      const auto key = std::stoi(each[0]);
      if ((bounds.from.empty() || key >= std::stoi(bounds.from[0])) &&
          (bounds.to.empty() || key < std::stoi(bounds.to[0])))
        out.push_back(each);
    }
    return out;
  }

  sources::table_reader::found_row found(const key_order& order) {
    ++from_->keys_read;
    sources::table_reader::found_row out{{from_->sees, position{from_->log_end}}, {}};
    for (const auto& each : from_->tables[order.table->table.name])
      if (encode_key(std::vector{each[0]}) == order.key)
        out.row = script{order.table}.copy(each).take();
    return out;
  }

  caf::event_based_actor* self_ = nullptr;
  source_double* from_ = nullptr;
  load_coordinator_actor coordinator_;
  attempt number_ = 0;
  std::size_t block_ = 0;
  relation_ptr shape_;
  std::uint32_t range_ = 0;
};

class load_coordinator_test : public tests::actor_fixture {
protected:
  load_coordinator_test() {
    source.plan = engine::test::by_key({"10", "20"});
    for (int i = 0; i < 30; ++i)
      source.tables["orders"].push_back({std::to_string(i), "a", "b", "c"});
  }

  caf::actor reader() {
    return spawn(
        [](caf::stateful_actor<reader_double>* me, source_double* from) {
          me->state = reader_double{me, from};
          return me->state.behavior();
        },
        &source);
  }

  void start(int readers = 2, std::optional<std::uint32_t> rows_per_second = {}) {
    auto sink = spawn(
        [this](sink_actor::pointer, int) -> sink_actor::behavior_type {
          return {
              [this](const work& next) { return target.write(*next.what); },
              [](const new_shapes&) { return done_atom_v; },
              [](const written&) {},
              [](const prepared&) {},
          };
        },
        0);
    engine::start_point first;
    first.from = {position{10}, position{10}};
    first.is_first = true;
    core = std::make_shared<engine::engine>(
        engine::engine_options{},
        std::vector{engine::table_setup{engine::test::target_of(orders), {}}}, sink_state{}, first);
    engine_options engine_with;
    engine_with.life = 1;
    engine_with.window = window;
    engine_with.shapes = {orders};
    engine_with.stats = board_.add(actor_kind::engine, "engine");
    engine_with.counts = std::make_shared<sink_stats>("target", "test");
    engine_with.pipeline_counts = counts;
    engine = spawn(engine_behavior, core, sink, engine_with);

    load_crew crew;
    crew.engine = engine;
    crew.source = spawn(
        [this](caf::event_based_actor*, int) -> caf::behavior {
          return {
              [this](const position_wanted&) { ++source.asked_for_position; },
              [](const repayment&) {},
          };
        },
        0);
    crew.desk = reader();
    for (int i = 0; i < readers; ++i)
      crew.readers.push_back(reader());
    load_options options;
    options.life = 1;
    options.window = window;
    options.rows_per_second = rows_per_second;
    options.shapes = {orders};
    options.progress = {std::nullopt};
    options.sink = "target";
    options.supervisor =
        spawn([this](caf::event_based_actor*,
                     int) -> caf::behavior { return {[this](const branch_loaded&) { ++loaded; }}; },
              0);
    options.stats = board_.add(actor_kind::coordinator, "load");
    options.counts = engine_with.counts;
    options.pipeline_counts = counts;
    options.pressure_words = "the log holds back too much";
    spawn(load_behavior, crew, options);
    run();
  }

  /// The stream passes `end`.
  void pass(std::uint64_t end) {
    self->send(engine, shipment{1, script{orders}.advance(end).take(), true, {}});
    run();
  }

  void ship(const block_ptr& rows) {
    self->send(engine, shipment{1, rows, true, {}});
    run();
  }

  [[nodiscard]] std::size_t written_rows() { return target.tables["orders"].rows.size(); }

  board board_{"test", "0"};
  relation_ptr orders = engine::test::shape_of("orders", 1);
  credit window{16, 1u << 20};
  source_double source;
  engine::test::target target;
  std::shared_ptr<engine::engine> core;
  std::shared_ptr<pipeline_stats> counts = std::make_shared<pipeline_stats>("shop", "postgres");
  engine_actor engine;
  int loaded = 0;
};

TEST_F(load_coordinator_test, copies_every_row_once_the_stream_has_passed_the_log_end) {
  start();
  EXPECT_EQ(written_rows(), 0u);
  pass(100);
  EXPECT_EQ(written_rows(), 30u);
  EXPECT_EQ(loaded, 1);
  EXPECT_TRUE(core->load_finished());
  EXPECT_EQ(source.open_now, 0);
}

TEST_F(load_coordinator_test, reads_with_as_many_readers_as_it_has) {
  start(2);
  EXPECT_EQ(source.open_most, 2);
}

TEST_F(load_coordinator_test, asks_for_the_position_at_once_and_nudges_an_idle_log_soon) {
  start();
  EXPECT_EQ(source.asked_for_position, 1);
  EXPECT_EQ(source.nudges, 0);
  pass_time(3ms);
  EXPECT_EQ(source.nudges, 1);
  pass(100);
  const auto nudged = source.nudges;
  pass_time(1000ms);
  EXPECT_EQ(source.nudges, nudged);
}

TEST_F(load_coordinator_test, reads_no_further_ahead_than_its_window) {
  window = {8, 1u << 20};
  start(1);
  EXPECT_EQ(source.opened, 1);
  pass(100);
  EXPECT_EQ(written_rows(), 30u);
}

TEST_F(load_coordinator_test, takes_a_new_snapshot_until_it_sees_what_it_must) {
  source.sees = {.xmin = 5, .xmax = 9, .in_progress = {7}};
  start();
  // The engine has passed a transaction that the snapshots of later ranges do not see.
  ship(script{orders}.begin(7, 50).insert({"40", "a", "b", "c"}).commit().take());
  pass(100);
  for (int i = 0; i < 20; ++i)
    pass_time(1000ms);
  source.sees = {.xmin = 1000, .xmax = 1000, .in_progress = {}};
  for (int i = 0; i < 5; ++i)
    pass_time(1000ms);
  EXPECT_EQ(written_rows(), 31u);
  EXPECT_EQ(loaded, 1);
}

TEST_F(load_coordinator_test, begins_a_range_anew_when_its_reader_fails) {
  source.failures = 2;
  start();
  pass(100);
  for (int i = 0; i < 10; ++i)
    pass_time(5000ms);
  pass(101);
  EXPECT_EQ(written_rows(), 30u);
  EXPECT_EQ(loaded, 1);
}

TEST_F(load_coordinator_test, ends_when_its_readers_fail_again_and_again) {
  source.failures = 1000;
  start();
  for (int i = 0; i < 30; ++i)
    pass_time(5000ms);
  EXPECT_EQ(loaded, 0);
  EXPECT_LT(source.opened, 30);
}

TEST_F(load_coordinator_test, keeps_to_the_rows_a_second_it_was_given) {
  start(1, 10);
  pass(100);
  for (int i = 0; i < 10; ++i)
    pass_time(100ms);
  EXPECT_LE(written_rows(), 14u);
  for (int i = 0; i < 50; ++i)
    pass_time(100ms);
  EXPECT_EQ(written_rows(), 30u);
}

TEST_F(load_coordinator_test, stands_still_while_the_log_holds_back_too_much) {
  source.pressure.status = sources::log_pressure::state::extended;
  start();
  pass(100);
  const auto opened = source.opened;
  for (int i = 0; i < 10; ++i)
    pass_time(5000ms);
  EXPECT_EQ(source.opened, opened);
  EXPECT_EQ(loaded, 0);
  EXPECT_FALSE(counts->view(0).load_paused.empty());

  source.pressure.status = sources::log_pressure::state::reserved;
  pass_time(5000ms);
  EXPECT_EQ(written_rows(), 30u);
  EXPECT_TRUE(counts->view(0).load_paused.empty());
}

TEST_F(load_coordinator_test, reads_again_by_key_what_the_target_turns_out_to_lack) {
  start();
  pass(100);
  ASSERT_EQ(loaded, 1);
  target.tables["orders"].rows.erase(encode_key(std::vector<std::string>{"5"}));
  source.tables["orders"][5][1] = "new";
  ship(script{orders}
           .begin(500, 120)
           .update({"5", "new", std::string{engine::test::absent}, "c"})
           .commit()
           .take());
  for (int i = 0; i < 5; ++i) {
    pass_time(1000ms);
    pass(200);
  }
  EXPECT_GE(source.keys_read, 1);
  EXPECT_EQ(target.tables["orders"].rows[encode_key(std::vector<std::string>{"5"})],
            (row{"5", "new", "b", "c"}));
}

} // namespace

} // namespace cdc::actors
