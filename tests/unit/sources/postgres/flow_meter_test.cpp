#include "sources/postgres/flow_meter.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::postgres {
namespace {

using namespace std::chrono_literals;

struct flow_meter_test : testing::Test {
  clock::time_point now = clock::time_point{} + 1h;
  flow_meter flow;

  bool busy_after(clock::duration passed, std::size_t bytes) {
    now += passed;
    flow.drained(bytes, now);
    return flow.busy();
  }
};

TEST_F(flow_meter_test, is_idle_at_first_and_after_a_silence) {
  EXPECT_FALSE(flow.busy());
  EXPECT_TRUE(busy_after(1s, 100'000));
  EXPECT_FALSE(busy_after(20ms, 600));
}

TEST_F(flow_meter_test, never_takes_single_transactions_for_a_flow) {
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(busy_after(20ms, 600));
}

TEST_F(flow_meter_test, never_takes_the_segments_of_one_transaction_for_a_flow) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(busy_after(20us, 200));
}

TEST_F(flow_meter_test, notices_rows_that_come_one_by_one_without_end) {
  for (int i = 0; i < 60; ++i)
    (void)busy_after(5us, 185);
  EXPECT_TRUE(flow.busy());
}

TEST_F(flow_meter_test, stays_busy_over_the_naps_of_a_steady_flow) {
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(busy_after(200us, 9'000));
}

TEST_F(flow_meter_test, forgets_a_burst_within_milliseconds) {
  EXPECT_TRUE(busy_after(1s, 20'000));
  EXPECT_FALSE(busy_after(2ms, 100));
}

} // namespace
} // namespace cdc::sources::postgres
