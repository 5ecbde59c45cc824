#include "actors/token_bucket.hpp"

#include <gtest/gtest.h>

namespace cdc::actors {

namespace {

using namespace std::chrono_literals;

const token_bucket::clock::time_point start{1h};

TEST(token_bucket, without_a_rate_is_always_open) {
  token_bucket bucket{std::nullopt};
  bucket.take(1'000'000'000);
  EXPECT_TRUE(bucket.open(start));
  EXPECT_EQ(bucket.opens_in(), 0ms);
}

TEST(token_bucket, opens_when_the_rows_taken_have_been_paid_for) {
  token_bucket bucket{1000};
  ASSERT_TRUE(bucket.open(start));
  bucket.take(500);

  EXPECT_FALSE(bucket.open(start));
  EXPECT_NEAR(static_cast<double>(bucket.opens_in().count()), 500, 2);
  EXPECT_FALSE(bucket.open(start + 490ms));
  EXPECT_TRUE(bucket.open(start + 500ms));
}

TEST(token_bucket, lets_a_block_larger_than_a_second_pass_and_then_waits) {
  token_bucket bucket{100};
  ASSERT_TRUE(bucket.open(start));
  bucket.take(1000);
  EXPECT_FALSE(bucket.open(start + 9900ms));
  EXPECT_TRUE(bucket.open(start + 10s));
}

TEST(token_bucket, keeps_the_rate_however_the_rows_come) {
  token_bucket bucket{1000};
  std::uint64_t passed = 0;
  for (auto now = start; now < start + 10s; now += 1ms)
    if (bucket.open(now)) {
      bucket.take(70);
      passed += 70;
    }
  EXPECT_NEAR(static_cast<double>(passed), 10'000, 200);
}

TEST(token_bucket, saves_up_little_while_nothing_is_taken) {
  token_bucket bucket{1000};
  ASSERT_TRUE(bucket.open(start));
  ASSERT_TRUE(bucket.open(start + 1h));
  bucket.take(200);
  EXPECT_FALSE(bucket.open(start + 1h + 90ms));
}

} // namespace

} // namespace cdc::actors
