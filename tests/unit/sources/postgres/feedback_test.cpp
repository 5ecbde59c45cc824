#include "sources/postgres/feedback.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::postgres {
namespace {

using namespace std::chrono_literals;

struct feedback_test : testing::Test {
  clock::time_point start = clock::time_point{} + 1h;
  feedback told = started({100});

  feedback started(position resume) const {
    feedback made{resume, {.interval = 1s}};
    made.start(start);
    return made;
  }

  std::optional<status_update> due(clock::duration after, bool reading = true) {
    const auto got = told.due(start + after, reading);
    EXPECT_TRUE(got) << got.error().detail;
    return got ? *got : std::nullopt;
  }
};

TEST_F(feedback_test, reports_what_is_durable_once_an_interval) {
  told.handed_out({200});
  told.confirm({150});
  EXPECT_FALSE(due(999ms));
  EXPECT_EQ(due(1000ms), (status_update{.durable = {150}}));
  EXPECT_FALSE(due(1001ms));
  told.heard(start + 1500ms);
  EXPECT_EQ(due(2000ms), (status_update{.durable = {150}}));
}

TEST_F(feedback_test, reports_at_once_what_the_server_asks_for) {
  told.handed_out({200});
  told.confirm({150});
  told.server_asks();
  EXPECT_LE(told.deadline(), start);
  EXPECT_EQ(due(10ms), (status_update{.durable = {150}}));
  EXPECT_FALSE(due(10ms));
}

TEST_F(feedback_test, reports_nothing_but_where_it_resumed_before_anything_is_durable) {
  told.handed_out({200});
  EXPECT_EQ(due(1s), (status_update{.durable = {100}}));
}

TEST_F(feedback_test, never_goes_back) {
  told.handed_out({200});
  told.confirm({150});
  told.confirm({120});
  EXPECT_EQ(due(1s)->durable, position{150});
}

TEST_F(feedback_test, refuses_to_report_what_was_never_handed_out) {
  told.handed_out({200});
  told.confirm({201});
  const auto got = told.due(start + 1s, true);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, errc::invariant_broken);
  EXPECT_EQ(got.error().detail, "reported 0/64 <= durable 0/C9 <= handed out 0/C8 does not hold");
  EXPECT_EQ(told.reported(), position{100});
  EXPECT_FALSE(told.last_words());
}

TEST_F(feedback_test, asks_for_an_answer_after_two_seconds_of_silence) {
  EXPECT_FALSE(due(1000ms)->wants_reply);
  EXPECT_TRUE(due(2000ms)->wants_reply);
  EXPECT_FALSE(due(3000ms)->wants_reply);
}

TEST_F(feedback_test, takes_a_server_that_does_not_answer_for_dead) {
  ASSERT_TRUE(due(2000ms));
  ASSERT_TRUE(due(3999ms));
  const auto got = told.due(start + 4000ms, true);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, errc::source_unavailable);
  EXPECT_EQ(got.error().detail, "the server has been silent for 4000 ms and did not answer");
}

TEST_F(feedback_test, lets_any_message_pass_for_an_answer) {
  ASSERT_TRUE(due(2000ms)->wants_reply);
  told.heard(start + 3900ms);
  EXPECT_FALSE(due(4000ms)->wants_reply);
  EXPECT_FALSE(due(5899ms)->wants_reply);
  EXPECT_TRUE(due(5900ms)->wants_reply);
}

TEST_F(feedback_test, goes_on_reporting_while_nothing_is_read_and_takes_no_silence_amiss) {
  for (auto at = 1s; at < 60s; at += 1s)
    EXPECT_EQ(due(at, false), (status_update{.durable = {100}})) << at.count();
  EXPECT_FALSE(due(60s, true)->wants_reply);
  EXPECT_FALSE(due(61s, true)->wants_reply);
  EXPECT_TRUE(due(62s, true)->wants_reply);
}

TEST_F(feedback_test, forgets_a_question_once_nothing_is_read_any_more) {
  ASSERT_TRUE(due(2000ms)->wants_reply);
  EXPECT_FALSE(due(2500ms, false));
  EXPECT_TRUE(due(10s, true));
}

TEST_F(feedback_test, asks_when_it_is_told_to_and_expects_an_answer) {
  told.ask();
  EXPECT_LE(told.deadline(), start);
  EXPECT_TRUE(due(10ms)->wants_reply);
  EXPECT_FALSE(due(20ms));
  EXPECT_TRUE(due(2009ms));
  EXPECT_FALSE(told.due(start + 2010ms, true));
}

TEST_F(feedback_test, wakes_its_owner_for_what_comes_first) {
  EXPECT_EQ(told.deadline(), start + 1s);
  (void)due(1s);
  EXPECT_EQ(told.deadline(), start + 2s);
  (void)due(2s);
  EXPECT_EQ(told.deadline(), start + 3s);
  (void)due(3100ms);
  EXPECT_EQ(told.deadline(), start + 4s);
  told.heard(start + 3200ms);
  EXPECT_EQ(told.deadline(), start + 4100ms);
}

TEST_F(feedback_test, has_last_words_only_for_what_was_not_reported) {
  EXPECT_FALSE(told.last_words());
  told.handed_out({200});
  told.confirm({150});
  EXPECT_EQ(told.last_words(), (status_update{.durable = {150}}));
  (void)due(1s);
  EXPECT_FALSE(told.last_words());
}

TEST(patience, doubles_while_there_is_no_progress_and_returns_with_it) {
  patience with{2s};
  EXPECT_EQ(with.allowed(), 2s);
  with.ran_out();
  with.ran_out();
  EXPECT_EQ(with.allowed(), 8s);
  for (int i = 0; i < 10; ++i)
    with.ran_out();
  EXPECT_EQ(with.allowed(), patience::longest);
  with.progressed();
  EXPECT_EQ(with.allowed(), 2s);
}

} // namespace
} // namespace cdc::sources::postgres
