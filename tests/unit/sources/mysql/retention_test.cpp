#include "sources/mysql/retention.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::mysql {

namespace {

using state = log_pressure::state;

const auto at = coordinates::starting_in("bin.000001").value();

position place(std::string_view file, std::uint64_t offset) {
  return at.token(file, offset).value();
}

const std::vector<binlog_file> three{
    {"bin.000001", 1000}, {"bin.000002", 2000}, {"bin.000003", 500}};
const std::vector<binlog_file> two{{"bin.000002", 2000}, {"bin.000003", 500}};

} // namespace

TEST(retention, counts_the_bytes_from_what_is_needed_on) {
  retention_watch watch;
  const auto seen = watch.judge(three, at, place("bin.000002", 1900)).value();

  EXPECT_EQ(seen.status, state::reserved);
  EXPECT_EQ(seen.retained_bytes, 600u);
}

TEST(retention, is_in_no_danger_while_nothing_was_purged) {
  retention_watch watch;

  EXPECT_EQ(watch.judge(three, at, place("bin.000001", 4)).value().status, state::reserved);
}

TEST(retention, is_in_danger_when_the_oldest_file_is_needed_and_the_server_purges) {
  retention_watch watch;
  (void)watch.judge(three, at, place("bin.000002", 4));

  EXPECT_EQ(watch.judge(two, at, place("bin.000002", 4)).value().status, state::extended);
  EXPECT_EQ(watch.judge(two, at, place("bin.000003", 4)).value().status, state::reserved);
  EXPECT_EQ(watch.judge(two, at, place("bin.000001", 900)).value().status, state::lost);
}

TEST(retention, does_not_count_a_file_that_was_read_to_its_end) {
  retention_watch watch;
  (void)watch.judge(three, at, place("bin.000002", 4));

  EXPECT_EQ(watch.judge(two, at, place("bin.000002", 2000)).value().status, state::reserved);
}

TEST(retention, is_in_no_danger_in_the_file_that_is_being_written) {
  retention_watch watch;
  (void)watch.judge(three, at, place("bin.000003", 4));

  EXPECT_EQ(watch.judge({{"bin.000003", 500}}, at, place("bin.000003", 4)).value().status,
            state::reserved);
}

TEST(retention, is_not_known_before_anything_was_read) {
  retention_watch watch;

  EXPECT_EQ(watch.judge(three, at, {}).value().status, state::unknown);
}

} // namespace cdc::sources::mysql
