#include "supervision/restart_policy.hpp"

#include <gtest/gtest.h>

namespace cdc::supervision {

namespace {

using namespace std::chrono_literals;

const error cut{errc::source_unavailable, "cut"};
const error locked{errc::target_unavailable, "locked"};

restart_policy policy(restart_limits source, std::uint32_t seed = 1) {
  restart_options options;
  options.source = source;
  options.target = {.failures_max = 2, .backoff = 500ms, .elapsed_max = {}};
  options.seed = seed;
  return restart_policy{options};
}

TEST(restart_policy, doubles_the_delay_up_to_thirty_seconds_less_a_quarter_at_most) {
  for (std::uint32_t seed = 1; seed < 50; ++seed) {
    auto tried = policy({.failures_max = 20, .backoff = 1s, .elapsed_max = {}}, seed);
    for (const std::chrono::milliseconds whole : {1s, 2s, 4s, 8s, 16s, 30s, 30s, 30s}) {
      const auto next = tried.failed(cut, 0ms);
      ASSERT_FALSE(next.halts);
      EXPECT_LE(next.delay, whole);
      EXPECT_GE(next.delay, whole - whole / 4);
    }
  }
}

TEST(restart_policy, spreads_pipelines_that_failed_together) {
  auto first = policy({.failures_max = 20, .backoff = 8s, .elapsed_max = {}}, 1);
  auto second = policy({.failures_max = 20, .backoff = 8s, .elapsed_max = {}}, 2);
  EXPECT_NE(first.failed(cut, 0ms).delay, second.failed(cut, 0ms).delay);
}

TEST(restart_policy, halts_after_the_allowed_failures_in_a_row) {
  auto tried = policy({.failures_max = 2, .backoff = 1s, .elapsed_max = {}});
  EXPECT_FALSE(tried.failed(cut, 0ms).halts);
  EXPECT_FALSE(tried.failed(cut, 0ms).halts);
  const auto third = tried.failed(cut, 0ms);
  EXPECT_TRUE(third.halts);
  EXPECT_EQ(third.failures, 3u);
}

TEST(restart_policy, halts_at_the_first_failure_when_none_is_allowed) {
  EXPECT_TRUE(policy({.failures_max = 0, .backoff = 1s, .elapsed_max = {}}).failed(cut, 0ms).halts);
}

TEST(restart_policy, begins_the_count_anew_after_a_life_longer_than_the_longest_delay) {
  auto tried = policy({.failures_max = 1, .backoff = 1s, .elapsed_max = {}});
  EXPECT_FALSE(tried.failed(cut, 0ms).halts);
  EXPECT_FALSE(tried.failed(cut, 31s).halts);
  EXPECT_TRUE(tried.failed(cut, 30s).halts);
}

TEST(restart_policy, halts_at_once_when_only_a_person_can_help) {
  auto tried = policy({.failures_max = 10, .backoff = 1s, .elapsed_max = {}});
  for (const auto code : {errc::permission_denied, errc::source_misconfigured, errc::position_lost,
                          errc::foreign_stream, errc::invariant_broken, errc::row_refused})
    EXPECT_TRUE(tried.failed({code, "no"}, 0ms).halts) << to_string(code);
}

TEST(restart_policy, counts_failures_of_targets_by_their_own_limits) {
  auto tried = policy({.failures_max = 10, .backoff = 1s, .elapsed_max = {}});
  EXPECT_LE(tried.failed(locked, 0ms).delay, 500ms);
  EXPECT_FALSE(tried.failed(locked, 0ms).halts);
  EXPECT_TRUE(tried.failed(locked, 0ms).halts);
}

TEST(restart_policy, never_waits_past_the_time_that_is_allowed_for_all_tries) {
  auto tried = policy({.failures_max = 100, .backoff = 4s, .elapsed_max = 10s});
  std::chrono::milliseconds spent{0};
  for (auto next = tried.failed(cut, 0ms); !next.halts; next = tried.failed(cut, 0ms))
    spent += next.delay;
  EXPECT_EQ(spent, 10s);
}

TEST(restart_policy, begins_anew_when_it_is_forgiven) {
  auto tried = policy({.failures_max = 1, .backoff = 1s, .elapsed_max = {}});
  EXPECT_FALSE(tried.failed(cut, 0ms).halts);
  tried.forgive();
  EXPECT_FALSE(tried.failed(cut, 0ms).halts);
}

} // namespace

} // namespace cdc::supervision
