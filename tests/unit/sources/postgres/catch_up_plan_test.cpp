#include "sources/postgres/catch_up_plan.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::postgres {

namespace {

using namespace std::chrono_literals;
using because = catch_up_record::because;

constexpr std::uint64_t mb = std::uint64_t{1} << 20;
const clock::time_point start{1h};

catch_up_options behind_by(std::uint64_t bytes) {
  catch_up_options out;
  out.threshold = bytes;
  return out;
}

// -- how much -------------------------------------------------------------------------------------

TEST(call_size, grows_while_the_first_row_takes_longer_than_all_the_rest) {
  call_size size{catch_up_options{}};
  EXPECT_EQ(size.next(), 50'000u);
  size.learn({.rows = 50'000, .bytes = 50'000 * 100, .until_first = 300ms, .rest = 100ms});
  EXPECT_EQ(size.next(), 100'000u);
  size.learn({.rows = 100'010, .bytes = 100'010 * 100, .until_first = 300ms, .rest = 310ms});
  EXPECT_EQ(size.next(), 100'000u);
}

TEST(call_size, stops_at_its_payload) {
  call_size size{catch_up_options{}};
  for (int i = 0; i < 20; ++i)
    size.learn({.rows = size.next(), .bytes = size.next() * 200ull, .until_first = 1s, .rest = 0s});
  EXPECT_EQ(size.next(), 64 * mb / 200);
}

TEST(call_size, shrinks_when_rows_turn_out_wide) {
  call_size size{catch_up_options{}};
  size.learn({.rows = 10'000, .bytes = 10'000 * 10'000ull, .until_first = 1s, .rest = 2s});
  EXPECT_EQ(size.next(), 64 * mb / 10'000);
  size.learn({.rows = 100, .bytes = 100 * mb, .until_first = 1s, .rest = 2s});
  EXPECT_EQ(size.next(), 1'000u) << "the least there is";
}

TEST(call_size, learns_nothing_of_time_from_a_short_call) {
  call_size size{catch_up_options{}};
  size.learn({.rows = 10, .bytes = 1000, .until_first = 1s, .rest = 0s});
  size.learn({.rows = 0, .bytes = 0, .until_first = 1s, .rest = 0s});
  EXPECT_EQ(size.next(), 50'000u);
}

// -- when -----------------------------------------------------------------------------------------

TEST(backlog_watch, asks_when_log_has_gone_by_for_a_while) {
  backlog_watch watch{behind_by(64 * mb)};
  watch.start({100}, start);
  EXPECT_FALSE(watch.look_due({100 + 64 * mb}, start + 999ms));
  EXPECT_FALSE(watch.look_due({100 + 3 * mb}, start + 1s));
  EXPECT_TRUE(watch.look_due({100 + 4 * mb}, start + 1s));
}

TEST(backlog_watch, never_asks_when_catching_up_is_off) {
  backlog_watch watch{behind_by(0)};
  watch.start({0}, start);
  EXPECT_FALSE(watch.look_due({1 << 30}, start + 1h));
}

TEST(backlog_watch, wants_to_see_it_twice) {
  backlog_watch watch{behind_by(64 * mb)};
  watch.start({0}, start);
  EXPECT_FALSE(watch.falls_behind({10 * mb}, {100 * mb}, start + 1s));
  EXPECT_TRUE(watch.falls_behind({20 * mb}, {110 * mb}, start + 2s));
}

TEST(backlog_watch, leaves_alone_what_shrinks_by_itself) {
  backlog_watch watch{behind_by(64 * mb)};
  watch.start({0}, start);
  EXPECT_FALSE(watch.falls_behind({0}, {200 * mb}, start + 1s));
  EXPECT_FALSE(watch.falls_behind({30 * mb}, {200 * mb}, start + 2s)) << "gone in six seconds";
  EXPECT_TRUE(watch.falls_behind({40 * mb}, {200 * mb}, start + 3s)) << "gone in sixteen";
}

TEST(backlog_watch, says_nothing_of_a_time_spent_waiting_for_credit) {
  backlog_watch watch{behind_by(64 * mb)};
  watch.start({0}, start);
  EXPECT_FALSE(watch.falls_behind({0}, {200 * mb}, start + 1s));
  watch.idle_for(600ms);
  EXPECT_FALSE(watch.falls_behind({0}, {300 * mb}, start + 2s));
  EXPECT_FALSE(watch.falls_behind({0}, {300 * mb}, start + 3s)) << "the first look of two again";
}

TEST(backlog_watch, asks_less_and_less_while_the_stream_keeps_up) {
  backlog_watch watch{behind_by(64 * mb)};
  auto now = start;
  position passed{0};
  watch.start(passed, now);
  for (auto interval = 1s; interval <= 32s; interval *= 2) {
    passed.token += 10 * mb;
    EXPECT_FALSE(watch.look_due(passed, now + interval - 1ms));
    now += interval;
    EXPECT_TRUE(watch.look_due(passed, now));
    EXPECT_FALSE(watch.falls_behind(passed, {passed.token + mb}, now));
  }
  passed.token += 10 * mb;
  EXPECT_FALSE(watch.look_due(passed, now + 59s));
  EXPECT_TRUE(watch.look_due(passed, now + 60s)) << "a minute at most";
  EXPECT_FALSE(watch.falls_behind(passed, {passed.token + 100 * mb}, now + 60s));
  passed.token += 10 * mb;
  EXPECT_TRUE(watch.look_due(passed, now + 61s)) << "at once again when it falls behind";
}

TEST(pull_watch, is_done_when_a_short_call_leaves_little) {
  pull_watch watch{behind_by(64 * mb)};
  EXPECT_TRUE(watch.is_done(true, {.passed = {100}, .log_end = {100 + 32 * mb}, .restart = {}}));
  EXPECT_FALSE(watch.is_done(true, {.passed = {100}, .log_end = {101 + 32 * mb}, .restart = {}}));
  EXPECT_FALSE(watch.is_done(false, {.passed = {100}, .log_end = {100}, .restart = {}}))
      << "a full call has cut something off";
}

TEST(pull_watch, gives_up_where_each_call_mostly_reads_again) {
  pull_watch watch{behind_by(64 * mb)};
  const backlog before{.passed = {1000 * mb}, .log_end = {9000 * mb}, .restart = {0}};
  const backlog after{.passed = {1010 * mb}, .log_end = {9000 * mb}, .restart = {0}};
  EXPECT_FALSE(watch.is_futile(before, after));
  EXPECT_FALSE(watch.is_futile(before, after));
  EXPECT_TRUE(watch.is_futile(before, after)) << "for the third time in a row";
  const backlog far{.passed = {1200 * mb}, .log_end = {9000 * mb}, .restart = {0}};
  EXPECT_FALSE(watch.is_futile(before, far)) << "a call that gets on is worth it";
  EXPECT_FALSE(watch.is_futile(before, after));
}

// -- whether --------------------------------------------------------------------------------------

TEST(catch_up_record, allows_until_something_speaks_against_it) {
  catch_up_record record;
  EXPECT_TRUE(record.allowed(start));
  EXPECT_EQ(record.reason(start), "");
  EXPECT_FALSE(record.take_news());
}

TEST(catch_up_record, never_tries_again_what_the_server_refuses) {
  catch_up_record record;
  record.failed(because::refused, "no right", start);
  EXPECT_FALSE(record.allowed(start + 1000h));
  EXPECT_EQ(record.reason(start), "no right");
}

TEST(catch_up_record, waits_twice_as_long_each_time_for_room) {
  catch_up_record record;
  record.failed(because::limited, "no slot", start);
  EXPECT_FALSE(record.allowed(start + 10min - 1ms));
  EXPECT_TRUE(record.allowed(start + 10min));
  record.failed(because::limited, "no slot", start);
  EXPECT_FALSE(record.allowed(start + 20min - 1ms));
  EXPECT_TRUE(record.allowed(start + 20min));
}

TEST(catch_up_record, takes_two_lost_connections_but_not_three) {
  catch_up_record record;
  record.failed(because::lost, "cut", start);
  record.failed(because::lost, "cut", start);
  EXPECT_TRUE(record.allowed(start));
  record.succeeded();
  record.failed(because::lost, "cut", start);
  record.failed(because::lost, "cut", start);
  EXPECT_TRUE(record.allowed(start)) << "a call came through in between";
  EXPECT_FALSE(record.take_news());
  record.failed(because::lost, "cut", start);
  EXPECT_FALSE(record.allowed(start));
  EXPECT_EQ(record.take_news(), "cut");
}

TEST(catch_up_record, tells_a_reason_once) {
  catch_up_record record;
  record.failed(because::limited, "no slot", start);
  EXPECT_EQ(record.take_news(), "no slot");
  EXPECT_FALSE(record.take_news());
  record.failed(because::limited, "no slot", start);
  EXPECT_FALSE(record.take_news());
  record.failed(because::limited, "no room", start);
  EXPECT_EQ(record.take_news(), "no room");
}

TEST(copy_name, is_a_slots_name_whatever_the_slot_is_called) {
  EXPECT_EQ(copy_name("shop"), "shop_catch_up");
  const std::string longest(63, 'a');
  const auto copy = copy_name(longest);
  EXPECT_EQ(copy.size(), 63u);
  EXPECT_TRUE(copy.starts_with("aaa") && copy.ends_with("a_catch_up")) << copy;
}

TEST(catch_up_record, tells_a_broken_connection_from_a_refusal_for_good_and_from_one_for_now) {
  for (const auto* state : {"", "08006", "57P01"})
    EXPECT_EQ(reason_of(state), because::lost) << state;
  for (const auto* state : {"42501", "42883", "0A000", "22023"})
    EXPECT_EQ(reason_of(state), because::refused) << state;
  for (const auto* state : {"53400", "53100", "55006", "42704", "42710", "57014"})
    EXPECT_EQ(reason_of(state), because::limited) << state;
}

} // namespace

} // namespace cdc::sources::postgres
