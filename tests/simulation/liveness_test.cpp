// A row that changes all the time must not hold the load up.
#include <tuple>

#include <gtest/gtest.h>

#include "tests/simulation/world.hpp"

namespace cdc::simulation {
namespace {

constexpr int rounds = 40;

/// One row of two keys that changes in every round, with its large columns absent. A reader hands
/// its rows over only so many rounds after its snapshot; commits become visible at once or a round
/// later.
class busy_row : public testing::TestWithParam<std::tuple<int, bool>> {
protected:
  busy_row() {
    how_.first_rows[0] = 1;
    how_.transactions = rounds;
    world_ = std::make_unique<world>(how_, engine::rule_switches{}, told_);
    does(happening::start);
    EXPECT_NE(world_->engine(), nullptr);
  }

  bool does(happening what, source::arguments how = {}) { return world_->take({what, how}); }

  void change(bool is_moved) {
    const auto is_hidden = std::get<1>(GetParam());
    does(happening::show);
    ASSERT_TRUE(does(happening::begin, {0, is_moved ? kind_move : kind_update, at_}));
    if (is_moved)
      at_ = static_cast<std::uint8_t>(1 - at_);
    ASSERT_TRUE(does(happening::log, {0, static_cast<std::uint8_t>(is_hidden ? 1 : 0)}));
    does(happening::stream);
  }

  void write_all() {
    for (int i = 0; i < 6; ++i) {
      does(happening::apply);
      does(happening::report);
    }
  }

  void read_on() {
    does(happening::open);
    does(happening::snapshot);
    does(happening::refetch);
    if (++age_ <= std::get<0>(GetParam()))
      return;
    age_ = 0;
    does(happening::hand);
    does(happening::answer);
    does(happening::read, {0, 3});
  }

  void pass_rounds(bool is_moved) {
    for (int round = 0; round < rounds; ++round) {
      change(is_moved);
      write_all();
      read_on();
      write_all();
      ASSERT_EQ(world_->wrong(), "");
      if (!finished_in_ && world_->engine()->load_finished())
        finished_in_ = round;
    }
  }

  static constexpr std::uint8_t kind_update = 0;
  static constexpr std::uint8_t kind_move = 9;

  options how_;
  story told_;
  std::unique_ptr<world> world_;
  std::uint8_t at_ = 0;
  int age_ = 0;
  std::optional<int> finished_in_;
};

TEST_P(busy_row, is_copied_as_soon_as_any_other) {
  pass_rounds(false);

  // As many rounds as the steps of a wave take in a quiet world, and the reader's own time.
  ASSERT_TRUE(finished_in_);
  EXPECT_LE(*finished_in_, std::get<0>(GetParam()) + 8);
  EXPECT_EQ(world_->engine()->listed(), 0u);
  EXPECT_EQ(world_->counts().load.refetched, 0u)
      << "the copied row and the cells of the stream are enough";
}

// Its key moves on before it is read: it may stay listed until it rests, but the load ends.
TEST_P(busy_row, lets_the_load_end_while_its_key_moves) {
  pass_rounds(true);

  ASSERT_TRUE(finished_in_);
  EXPECT_LE(*finished_in_, std::get<0>(GetParam()) + 8);
  world_->finish();
  EXPECT_EQ(world_->wrong(), "");
  EXPECT_EQ(world_->engine()->listed(), 0u);
}

INSTANTIATE_TEST_SUITE_P(paces, busy_row,
                         testing::Combine(testing::Values(0, 1, 2, 3), testing::Bool()));

} // namespace
} // namespace cdc::simulation
