#include "actors/checkpoint_actor.hpp"

#include <gtest/gtest.h>

#include "tests/support/actor_fixture.hpp"

namespace cdc::actors {

namespace {

using namespace std::chrono_literals;

class checkpoint_actor_test : public tests::actor_fixture {
protected:
  /// A source that keeps what it was told.
  caf::behavior source_double() {
    return {
        [this](const confirmation& what) { confirmed.push_back(what.durable.token); },
        [](const quiet&) {},
    };
  }

  engine_actor::behavior_type engine_double(std::size_t branch) {
    return {
        [](const shipment&) {},
        [](const table_plan&) {},
        [](const wave&) { return done_atom_v; },
        [](const range_view&) { return engine::verdict::accepted; },
        [](const range_rows&) {},
        [](const range_end&) {},
        [](const found_key&) { return engine::verdict::accepted; },
        [](const proof&) {},
        [](const load_coordinator_actor&) {},
        [](const checkpoint_actor&) {},
        [this, branch](const durable_wanted&) { ++asked[branch]; },
        [](finish_atom) { return done_atom_v; },
    };
  }

  checkpoint_actor start(std::size_t branches) {
    asked.assign(branches, 0);
    std::vector<engine_actor> engines;
    for (std::size_t branch = 0; branch < branches; ++branch)
      engines.push_back(
          spawn([this](engine_actor::pointer, std::size_t number) { return engine_double(number); },
                branch));
    auto source = spawn([this](caf::event_based_actor*, int) { return source_double(); }, 0);
    checkpoint_options options;
    options.life = 1;
    options.interval = 500ms;
    options.stats = std::make_shared<board>("test", "0")->add(actor_kind::checkpoint, "checkpoint");
    options.counts = counts;
    auto made = spawn(checkpoint_behavior, engines, source, options);
    run();
    return made;
  }

  static positions at(std::uint16_t branch, std::uint64_t written, std::uint64_t acknowledged,
                      std::uint64_t durable, incarnation life = 1) {
    return {life, branch, position{written}, position{acknowledged}, position{durable}, 0};
  }

  std::vector<int> asked;
  std::vector<std::uint64_t> confirmed;
  std::shared_ptr<pipeline_stats> counts = std::make_shared<pipeline_stats>("shop", "postgres");
};

TEST_F(checkpoint_actor_test, asks_for_durability_once_an_interval_and_only_when_a_branch_moved) {
  const auto checkpoint = start(1);
  pass_time(5000ms);
  EXPECT_EQ(asked[0], 0);

  self->send(checkpoint, at(0, 5, 3, 0));
  self->send(checkpoint, at(0, 5, 4, 0));
  run();
  pass_time(499ms);
  EXPECT_EQ(asked[0], 0);
  pass_time(1ms);
  EXPECT_EQ(asked[0], 1);

  self->send(checkpoint, at(0, 5, 4, 4));
  run();
  pass_time(5000ms);
  EXPECT_EQ(asked[0], 1);
}

TEST_F(checkpoint_actor_test, tells_the_source_what_is_durable_at_every_branch) {
  const auto checkpoint = start(2);
  self->send(checkpoint, at(0, 9, 9, 9));
  run();
  EXPECT_TRUE(confirmed.empty());
  self->send(checkpoint, at(1, 9, 9, 6));
  run();
  EXPECT_EQ(confirmed, (std::vector<std::uint64_t>{6}));
}

TEST_F(checkpoint_actor_test, asks_only_the_branch_that_lags) {
  const auto checkpoint = start(2);
  self->send(checkpoint, at(0, 9, 9, 9));
  self->send(checkpoint, at(1, 9, 9, 6));
  run();
  pass_time(500ms);
  EXPECT_EQ(asked, (std::vector<int>{0, 1}));
}

TEST_F(checkpoint_actor_test, drops_what_an_earlier_life_says) {
  const auto checkpoint = start(1);
  self->send(checkpoint, at(0, 9, 9, 9, 7));
  run();
  EXPECT_TRUE(confirmed.empty());
}

TEST_F(checkpoint_actor_test, ends_when_positions_are_out_of_order) {
  const auto checkpoint = start(1);
  self->monitor(checkpoint);
  self->send(checkpoint, at(0, 3, 4, 1));
  run();
  bool ended = false;
  self->receive(
      [&](const caf::down_msg& down) {
        ended = true;
        EXPECT_EQ(from_caf(down.reason).code, errc::invariant_broken);
      },
      caf::after(0s) >> [] {});
  EXPECT_TRUE(ended);
}

} // namespace

} // namespace cdc::actors
