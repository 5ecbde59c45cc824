#include "actors/engine_actor.hpp"

#include <deque>

#include <caf/others.hpp>
#include <gtest/gtest.h>

#include "tests/support/actor_fixture.hpp"
#include "tests/unit/engine/memory_target.hpp"
#include "tests/unit/engine/script.hpp"

namespace cdc::actors {

namespace {

using namespace std::chrono_literals;
using engine::test::script;

/// A sink that keeps its batches until the test lets one be written.
class sink_double {
public:
  sink_actor::behavior_type behavior(sink_actor::pointer me) {
    return {
        [this, me](const work& next) {
          auto promise = me->make_response_promise<caf::typed_response_promise<write_report>>();
          waiting.emplace_back(next.what, promise);
          return promise;
        },
        [this](const new_shapes& what) {
          for (const auto& table : what.tables)
            prepared.push_back(table->name);
          return done_atom_v;
        },
        [this](const written&) { write_next(); },
        [](const actors::prepared&) {},
    };
  }

  void write_next() {
    auto [batch, promise] = waiting.front();
    waiting.pop_front();
    auto report = target.write(*batch);
    report.refused = std::exchange(refuses, {});
    promise.deliver(report);
  }

  std::deque<std::pair<batch_ptr, caf::typed_response_promise<write_report>>> waiting;
  std::vector<std::string> prepared;
  std::vector<refusal> refuses;
  engine::test::target target;
};

class engine_actor_test : public tests::actor_fixture {
protected:
  engine_actor_test() {
    sink_ = spawn([this](sink_actor::pointer me, int) { return sink.behavior(me); }, 0);
    source = caf::actor_cast<caf::actor>(self);
    engine::table_setup table{engine::test::target_of(orders), table_progress{}};
    table.progress->plan.ranges.resize(1);
    table.progress->done = {true};
    engine::start_point start;
    start.from = {position{10}, position{9}};
    core = std::make_shared<engine::engine>(engine::engine_options{}, std::vector{table},
                                            sink_state{.epoch = 1, .resume = start.from}, start);
    engine_options options;
    options.life = 1;
    options.branch = 3;
    options.window = {4, 1u << 20};
    options.shapes = {orders};
    options.map = [this](const relation_ptr& shape) -> result<target_table_ptr> {
      if (shape->oid != orders->oid)
        return nullptr;
      return engine::test::target_of(shape);
    };
    options.stats = board_.add(actor_kind::engine, "engine");
    options.counts = counts;
    options.pipeline_counts = std::make_shared<pipeline_stats>("shop", "postgres");
    engine = spawn(engine_behavior, core, sink_, options);
    run();
  }

  void ship(const block_ptr& rows, bool source_is_empty = true, incarnation life = 1) {
    self->send(engine, shipment{life, rows, source_is_empty, std::chrono::steady_clock::now()});
    run();
  }

  /// A transaction that inserts one row.
  block_ptr inserted(std::uint64_t at) {
    return script{orders}
        .begin(static_cast<std::uint32_t>(at), at)
        .insert({std::to_string(at), "a", "b", "c"})
        .commit()
        .take();
  }

  /// Asks it to finish; `finished` becomes true once it has.
  void finish(bool& finished) {
    spawn(
        [&](caf::event_based_actor* asks, int) {
          asks->request(engine, caf::infinite, finish_atom_v).then([&](done_atom) {
            finished = true;
          });
        },
        0);
    run();
  }

  /// The sink writes the oldest batch it holds.
  void write() {
    caf::anon_send(caf::actor_cast<caf::actor>(sink_), written{});
    run();
  }

  std::uint32_t credit_paid() {
    std::uint32_t blocks = 0;
    while (self->has_next_message())
      self->receive([&](const repayment& paid) { blocks += paid.back.blocks; },
                    caf::others >> [](caf::message_view&) -> caf::result<caf::message> {
                      return caf::sec::unexpected_message;
                    });
    return blocks;
  }

  board board_{"test", "0"};
  relation_ptr orders = engine::test::shape_of("orders", 1);
  sink_double sink;
  sink_actor sink_;
  caf::actor source;
  std::shared_ptr<engine::engine> core;
  std::shared_ptr<sink_stats> counts = std::make_shared<sink_stats>("target", "test");
  engine_actor engine;
};

TEST_F(engine_actor_test, writes_a_block_at_once_when_nothing_more_is_on_its_way) {
  ship(inserted(20));
  ASSERT_EQ(sink.waiting.size(), 1u);
  EXPECT_EQ(sink.waiting.front().first->changes.size(), 1u);
}

TEST_F(engine_actor_test, waits_for_more_while_the_source_has_more) {
  ship(inserted(20), false);
  EXPECT_TRUE(sink.waiting.empty());
  ship(nullptr, true);
  EXPECT_EQ(sink.waiting.size(), 1u);
}

TEST_F(engine_actor_test, pays_back_only_what_the_target_has_taken) {
  ship(inserted(20));
  ship(inserted(30));
  EXPECT_EQ(credit_paid(), 0u);
  write();
  EXPECT_EQ(credit_paid(), 1u);
  write();
  EXPECT_EQ(credit_paid(), 1u);
  EXPECT_EQ(sink.target.tables["orders"].rows.size(), 2u);
}

TEST_F(engine_actor_test, joins_what_arrives_while_a_batch_is_being_written) {
  for (std::uint64_t at = 20; at < 23; ++at)
    ship(inserted(at));
  ASSERT_EQ(sink.waiting.size(), 1u);
  write();
  ASSERT_EQ(sink.waiting.size(), 1u);
  EXPECT_EQ(sink.waiting.front().first->transactions.size(), 2u);
}

TEST_F(engine_actor_test, drops_and_counts_what_an_earlier_life_sent) {
  ship(inserted(20), true, 7);
  EXPECT_TRUE(sink.waiting.empty());
}

TEST_F(engine_actor_test, passes_over_tables_that_no_section_takes) {
  const auto other = engine::test::shape_of("other", 2);
  ship(script{other}.begin(1, 20).insert({"1", "a", "b", "c"}).commit().take());
  ship(inserted(30));
  ASSERT_FALSE(sink.waiting.empty());
  EXPECT_EQ(sink.waiting.back().first->changes.size(), 1u);
  EXPECT_TRUE(sink.prepared.empty());
}

TEST_F(engine_actor_test, has_the_target_made_fit_before_rows_of_a_new_shape_reach_it) {
  auto wider = std::make_shared<relation>(*orders);
  wider->generation = 2;
  auto added = wider->columns.back();
  added.name = "d";
  added.attribute = 9;
  wider->columns.push_back(added);
  ship(script{wider}.begin(1, 20).insert({"1", "a", "b", "c", "d"}).commit().take());
  EXPECT_EQ(sink.prepared, (std::vector<std::string>{"orders"}));
  ASSERT_EQ(sink.waiting.size(), 1u);
  EXPECT_EQ(sink.waiting.front().first->tables.front()->columns.size(), 5u);
}

TEST_F(engine_actor_test, does_not_trouble_the_target_with_a_shape_that_is_the_same) {
  auto again = std::make_shared<relation>(*orders);
  again->generation = 2;
  ship(script{again}.begin(1, 20).insert({"1", "a", "b", "c"}).commit().take());
  EXPECT_TRUE(sink.prepared.empty());
  EXPECT_EQ(sink.waiting.size(), 1u);
}

TEST_F(engine_actor_test, asks_for_a_durable_batch_when_it_is_told_to) {
  ship(inserted(20));
  write();
  self->send(engine, durable_wanted{1});
  run();
  ASSERT_EQ(sink.waiting.size(), 1u);
  EXPECT_TRUE(sink.waiting.front().first->is_durable);
  write();
  EXPECT_EQ(core->durable(), position{21});
}

TEST_F(engine_actor_test, finishes_with_a_durable_batch_and_takes_nothing_more) {
  ship(inserted(20));
  bool finished = false;
  finish(finished);
  EXPECT_FALSE(finished);
  ship(inserted(30));
  write();
  ASSERT_EQ(sink.waiting.size(), 1u);
  EXPECT_TRUE(sink.waiting.front().first->is_durable);
  EXPECT_FALSE(finished);
  write();
  EXPECT_TRUE(finished);
  EXPECT_TRUE(sink.waiting.empty());
}

TEST_F(engine_actor_test, finishes_inside_a_large_transaction_without_its_end) {
  script large{orders};
  large.begin(1, 20);
  for (int i = 0; i < 3000; ++i)
    large.insert({std::to_string(i), "a", "b", "c"});
  ship(large.take());
  bool finished = false;
  finish(finished);
  while (!sink.waiting.empty())
    write();
  EXPECT_TRUE(finished);
  sink.target.lose_connection();
  EXPECT_TRUE(sink.target.tables["orders"].rows.empty());
}

TEST_F(engine_actor_test, ends_when_the_target_refuses_a_row) {
  self->monitor(engine);
  ship(inserted(20));
  sink.refuses = {{1, "too long"}};
  write();
  std::optional<error> why;
  self->receive([&](const caf::down_msg& down) { why = from_caf(down.reason); },
                caf::after(0s) >> [] {});
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::row_refused);
}

TEST_F(engine_actor_test, counts_every_row_it_has_read) {
  ship(inserted(20));
  ship(inserted(5));
  write();
  const auto rows = counts->streamed.get();
  EXPECT_EQ(rows.read, 2u);
  EXPECT_EQ(rows.written, 1u);
  EXPECT_EQ(rows.superseded, 1u);
}

} // namespace

} // namespace cdc::actors
