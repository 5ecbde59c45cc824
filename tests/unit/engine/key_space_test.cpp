#include "engine/key_space.hpp"

#include <gtest/gtest.h>

#include "messages/row_key.hpp"
#include "tests/unit/engine/script.hpp"

namespace cdc::engine::test {
namespace {

relation keyed_by(std::vector<column> columns) {
  relation out{.table = {"public", "t"}};
  for (auto& each : columns) {
    out.key.push_back(static_cast<std::uint16_t>(out.columns.size()));
    out.columns.push_back(std::move(each));
  }
  return out;
}

column integer() {
  return {.name = "i", .what = kind::integer};
}
column uuid() {
  return {.name = "u", .type_oid = 2950, .what = kind::other};
}
column text() {
  return {.name = "t", .what = kind::text};
}

std::uint32_t range_in(const key_space& space, std::vector<std::string> key) {
  return space.range_of(encode_key(key));
}

load_plan rows_of(std::vector<std::vector<std::string>> bounds) {
  load_plan out;
  load_range now;
  for (auto& each : bounds) {
    now.to = each;
    out.ranges.push_back(now);
    now = {.from = each};
  }
  out.ranges.push_back(now);
  return out;
}

TEST(key_space, orders_integers_as_numbers) {
  const key_space space{keyed_by({integer()}), by_key({"-5", "9", "100"})};

  EXPECT_EQ(range_in(space, {"-6"}), 0U);
  EXPECT_EQ(range_in(space, {"-5"}), 1U);
  EXPECT_EQ(range_in(space, {"8"}), 1U);
  EXPECT_EQ(range_in(space, {"9"}), 2U);
  EXPECT_EQ(range_in(space, {"10"}), 2U);
  EXPECT_EQ(range_in(space, {"100"}), 3U);
  EXPECT_EQ(range_in(space, {"-9223372036854775808"}), 0U);
  EXPECT_EQ(range_in(space, {"9223372036854775807"}), 3U);
}

TEST(key_space, orders_uuids_as_the_server_does) {
  const key_space space{keyed_by({uuid()}), by_key({"80000000-0000-0000-0000-000000000000"})};

  EXPECT_EQ(range_in(space, {"7fffffff-ffff-ffff-ffff-ffffffffffff"}), 0U);
  EXPECT_EQ(range_in(space, {"80000000-0000-0000-0000-000000000000"}), 1U);
  EXPECT_EQ(range_in(space, {"not a uuid"}), key_space::any);
}

TEST(key_space, compares_composite_keys_row_by_row) {
  const key_space space{keyed_by({integer(), integer()}), rows_of({{"5", "10"}, {"5", "200"}})};

  EXPECT_EQ(range_in(space, {"4", "999"}), 0U);
  EXPECT_EQ(range_in(space, {"5", "9"}), 0U);
  EXPECT_EQ(range_in(space, {"5", "10"}), 1U);
  EXPECT_EQ(range_in(space, {"5", "199"}), 1U);
  EXPECT_EQ(range_in(space, {"5", "200"}), 2U);
  EXPECT_EQ(range_in(space, {"6", "-1"}), 2U);
}

TEST(key_space, knows_nothing_of_an_order_that_is_the_databases_own) {
  EXPECT_FALSE(key_space(keyed_by({text()}), by_key({"m"})).knows());
  EXPECT_FALSE(key_space(keyed_by({integer(), text()}), rows_of({{"1", "m"}})).knows());
  EXPECT_FALSE(key_space(keyed_by({integer()}), by_page(2)).knows());
  EXPECT_EQ(range_in(key_space(keyed_by({text()}), by_key({"m"})), {"a"}), key_space::any);
}

TEST(key_space, knows_nothing_of_ranges_with_gaps) {
  auto gap = by_key({"10", "20"});
  gap.ranges[1].from = {"11"};
  auto late = by_key({"10"});
  late.ranges[0].from = {"0"};
  auto down = by_key({"20", "10"});

  EXPECT_FALSE(key_space(keyed_by({integer()}), gap).knows());
  EXPECT_FALSE(key_space(keyed_by({integer()}), late).knows());
  EXPECT_FALSE(key_space(keyed_by({integer()}), down).knows());
  EXPECT_FALSE(key_space(keyed_by({integer()}), by_key({"ten"})).knows());
}

TEST(key_space, one_range_holds_every_key) {
  const key_space space{keyed_by({integer()}), by_key({})};

  EXPECT_EQ(range_in(space, {"0"}), 0U);
}

} // namespace
} // namespace cdc::engine::test
