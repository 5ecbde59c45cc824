#include "messages/snapshot.hpp"

#include <gtest/gtest.h>

namespace cdc {
namespace {

TEST(snapshot, is_sure_of_what_ended_before_it_and_is_not_in_its_list) {
  const snapshot seen{.xmin = 728, .xmax = 731, .in_progress = {728, 730}};

  EXPECT_TRUE(seen.is_sure_of(3));
  EXPECT_TRUE(seen.is_sure_of(727));
  EXPECT_FALSE(seen.is_sure_of(728));
  EXPECT_TRUE(seen.is_sure_of(729));
  EXPECT_FALSE(seen.is_sure_of(730));
  EXPECT_FALSE(seen.is_sure_of(731));
  EXPECT_FALSE(seen.is_sure_of(732));
}

TEST(snapshot, compares_across_the_wrap_of_32_bit_numbers) {
  constexpr std::uint64_t epoch = std::uint64_t{1} << 32;
  const snapshot seen{.xmin = epoch - 3, .xmax = epoch + 5, .in_progress = {epoch - 2, epoch + 1}};

  EXPECT_TRUE(seen.is_sure_of(0xffff'fffc));  // epoch - 4
  EXPECT_TRUE(seen.is_sure_of(0xffff'fffd));  // epoch - 3, xmin itself: not listed
  EXPECT_FALSE(seen.is_sure_of(0xffff'fffe)); // epoch - 2, listed
  EXPECT_TRUE(seen.is_sure_of(0xffff'ffff));
  EXPECT_TRUE(seen.is_sure_of(0));
  EXPECT_FALSE(seen.is_sure_of(1)); // epoch + 1, listed
  EXPECT_TRUE(seen.is_sure_of(4));
  EXPECT_FALSE(seen.is_sure_of(5)); // xmax
  EXPECT_FALSE(seen.is_sure_of(6));
}

TEST(snapshot, tells_old_from_new_up_to_half_the_numbers_away) {
  constexpr std::uint64_t now = (std::uint64_t{7} << 32) + 100;
  const snapshot seen{.xmin = now, .xmax = now, .in_progress = {}};

  EXPECT_TRUE(seen.is_sure_of(static_cast<std::uint32_t>(now - 1)));
  EXPECT_TRUE(seen.is_sure_of(static_cast<std::uint32_t>(now - 0x7fff'ffff)));
  EXPECT_FALSE(seen.is_sure_of(static_cast<std::uint32_t>(now + 0x7fff'ffff)));
}

TEST(snapshot, reads_and_writes_the_servers_form) {
  for (const auto* text : {"728:731:728,730", "725:725:", "1:4294967296123:17,4294967296000", "[0]",
                           "[1-5,17,20-31]"}) {
    const auto parsed = parse_snapshot(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
  EXPECT_EQ(parse_snapshot("728:731:728,730"),
            (snapshot{.xmin = 728, .xmax = 731, .in_progress = {728, 730}}));
}

TEST(snapshot, of_runs_is_sure_of_what_is_in_one) {
  const snapshot seen{
      .runs = {{3, 5}, {17, 17}, {std::uint64_t{1} << 50, (std::uint64_t{1} << 50) + 9}}};

  for (const auto id :
       {transaction_id{3}, transaction_id{5}, transaction_id{17}, (transaction_id{1} << 50) + 9})
    EXPECT_TRUE(seen.is_sure_of(id)) << id;
  for (const auto id : {transaction_id{2}, transaction_id{6}, transaction_id{16},
                        transaction_id{18}, (transaction_id{1} << 50) + 10})
    EXPECT_FALSE(seen.is_sure_of(id)) << id;
}

TEST(snapshot, of_nothing_is_sure_of_no_transaction) {
  const snapshot seen{.runs = {{0, 0}}};

  EXPECT_FALSE(seen.is_sure_of(1));
  EXPECT_FALSE(seen.is_sure_of(~transaction_id{0}));
}

TEST(snapshot, tells_which_of_two_has_seen_more) {
  const snapshot xids{.xmin = 728, .xmax = 731, .in_progress = {728, 730}};
  const snapshot later{.xmin = 730, .xmax = 731, .in_progress = {730}};
  const snapshot runs{.runs = {{1, 5}}};
  const snapshot more{.runs = {{1, 5}, {9, 9}}};

  EXPECT_TRUE(later.has_seen_no_less_than(xids));
  EXPECT_FALSE(xids.has_seen_no_less_than(later));
  EXPECT_TRUE(more.has_seen_no_less_than(runs));
  EXPECT_TRUE(runs.has_seen_no_less_than(runs));
  EXPECT_FALSE(runs.has_seen_no_less_than(more));
}

TEST(snapshot, refuses_what_is_not_one) {
  for (const auto* text :
       {"",          "1",     "1:",   "1:2",    "1:2:1,", "1:2:,1", "2:1:",
        "1:5:3,2",   "1:2:x", "a:2:", "1:2:1 ", " 1:2:",  "-1:2:",  "1:99999999999999999999:",
        "1:2:1,,1",  "[]",    "[1",   "[1-]",   "[2-1]",  "[1,1]",  "[5,3]",
        "[1-5,5-6]", "[1]x",  "[1,]"}) {
    const auto parsed = parse_snapshot(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, errc::malformed_message);
  }
}

} // namespace
} // namespace cdc
