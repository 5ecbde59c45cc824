#include "actors/position_ledger.hpp"

#include <gtest/gtest.h>

namespace cdc::actors {

namespace {

position_ledger::stand stand(std::uint64_t written, std::uint64_t acknowledged,
                             std::uint64_t durable) {
  return {position{written}, position{acknowledged}, position{durable}};
}

TEST(position_ledger, confirms_the_least_durable_position_once) {
  position_ledger ledger{2};
  ASSERT_TRUE(ledger.move(0, stand(9, 8, 7)));
  EXPECT_EQ(ledger.confirm(), std::nullopt);
  ASSERT_TRUE(ledger.move(1, stand(5, 5, 4)));
  EXPECT_EQ(ledger.confirm(), position{4});
  EXPECT_EQ(ledger.confirm(), std::nullopt);
  ASSERT_TRUE(ledger.move(1, stand(9, 9, 9)));
  EXPECT_EQ(ledger.confirm(), position{7});
}

TEST(position_ledger, refuses_what_is_out_of_order_and_says_all_it_knows) {
  for (const auto& wrong :
       {stand(5, 6, 1), stand(9, 5, 6), stand(3, 3, 3), stand(9, 3, 3), stand(9, 9, 1)}) {
    position_ledger ledger{1};
    ASSERT_TRUE(ledger.move(0, stand(8, 5, 2)));
    const auto moved = ledger.move(0, wrong);
    ASSERT_FALSE(moved) << wrong.written.token << wrong.acknowledged.token << wrong.durable.token;
    EXPECT_EQ(moved.error().code, errc::invariant_broken);
    EXPECT_NE(moved.error().detail.find("was 8"), std::string::npos);
  }
}

TEST(position_ledger, wants_durability_for_what_a_power_cut_could_take_back) {
  position_ledger ledger{1};
  EXPECT_FALSE(ledger.wants_durability(0));
  ASSERT_TRUE(ledger.move(0, stand(9, 8, 7)));
  EXPECT_TRUE(ledger.wants_durability(0));
  ASSERT_TRUE(ledger.move(0, stand(9, 8, 8)));
  EXPECT_FALSE(ledger.wants_durability(0));
}

TEST(position_ledger, knows_what_all_branches_have_acknowledged) {
  position_ledger ledger{2};
  ASSERT_TRUE(ledger.move(0, stand(9, 8, 1)));
  ASSERT_TRUE(ledger.move(1, stand(9, 3, 1)));
  EXPECT_EQ(ledger.acknowledged_by_all(), position{3});
}

} // namespace

} // namespace cdc::actors
