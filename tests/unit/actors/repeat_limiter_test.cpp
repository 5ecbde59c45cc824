#include "actors/repeat_limiter.hpp"

#include <string>

#include <gtest/gtest.h>

namespace cdc::log {
namespace {

using namespace std::chrono_literals;

constexpr repeat_limiter::clock::time_point start{};

TEST(repeat_limiter, lets_a_line_pass_again_once_it_was_quiet_with_what_it_held_back) {
  repeat_limiter limiter{10s};

  EXPECT_TRUE(limiter.ask("a", start).passes);
  EXPECT_FALSE(limiter.ask("a", start + 1s).passes);
  EXPECT_FALSE(limiter.ask("a", start + 9s).passes);

  const auto next = limiter.ask("a", start + 10s);
  EXPECT_TRUE(next.passes);
  EXPECT_EQ(next.held_back, 2U);
  EXPECT_FALSE(limiter.ask("a", start + 11s).passes);
}

TEST(repeat_limiter, never_holds_a_different_line_back) {
  repeat_limiter limiter{10s};

  EXPECT_TRUE(limiter.ask("a", start).passes);
  EXPECT_TRUE(limiter.ask("b", start).passes);
}

TEST(repeat_limiter, tells_each_remainder_once) {
  repeat_limiter limiter{10s};
  static_cast<void>(limiter.ask("a", start));
  static_cast<void>(limiter.ask("a", start));

  const auto rest = limiter.take_remainders();

  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].line, "a");
  EXPECT_EQ(rest[0].held_back, 1U);
  EXPECT_TRUE(limiter.take_remainders().empty());
}

TEST(repeat_limiter, remembers_a_bounded_number_of_lines_and_lets_the_others_pass) {
  repeat_limiter limiter{10s, 2};
  for (const auto* line : {"a", "b", "c"})
    EXPECT_TRUE(limiter.ask(line, start).passes);

  EXPECT_FALSE(limiter.ask("a", start).passes);
  EXPECT_TRUE(limiter.ask("c", start).passes);
}

TEST(repeat_limiter, forgets_quiet_lines_to_make_room) {
  repeat_limiter limiter{10s, 1};
  static_cast<void>(limiter.ask("a", start));

  EXPECT_TRUE(limiter.ask("b", start + 10s).passes);
  EXPECT_FALSE(limiter.ask("b", start + 11s).passes);
}

} // namespace
} // namespace cdc::log
