#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/support/binlog_feed.hpp"

namespace cdc::sources::mysql {
namespace {

using tests::binlog_feed;

std::vector<std::byte> read_log(const std::string& name) {
  std::ifstream in{std::string{CDC_ROOT} + "/tests/fuzz/corpus/binlog_fuzz/" + name,
                   std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{in}, {}};
  const auto view = std::as_bytes(std::span{bytes});
  return {view.begin(), view.end()};
}

struct log_case {
  const char* name;
  std::size_t rows;
};

// Written by MySQL 9.7 and MariaDB 10.11; tests/e2e/test_mysql_values.py compares what their rows
// become with what the servers select.
class real_log : public testing::TestWithParam<log_case> {};

TEST_P(real_log, is_decoded_to_its_last_row) {
  binlog_feed feed;
  const auto log = read_log(GetParam().name);
  ASSERT_FALSE(log.empty());
  const auto fed = feed.feed_all(log);
  EXPECT_TRUE(fed) << fed.error().detail;
  EXPECT_EQ(feed.rows, GetParam().rows);
  EXPECT_EQ(feed.undecodable, 0u);
}

// Some bodies may end early (a statement's text, a row event behind a whole row): those are
// decoded, with fewer rows. Everything else is refused, and nothing reads past its end (the
// sanitizers watch).
TEST_P(real_log, has_every_prefix_of_its_events_refused_or_decoded_short) {
  const auto log = read_log(GetParam().name);
  std::span<const std::byte> left{log};
  binlog_feed feed;
  while (!left.empty()) {
    const auto event = binlog_feed::next(left);
    ASSERT_TRUE(event);
    const auto whole_before = feed.rows;
    if (event->header.type == event_type::table_map) {
      ASSERT_TRUE(feed.feed(*event));
    }
    for (std::size_t size = 0; size < event->body.size(); ++size) {
      std::vector<std::byte> piece{event->body.begin(),
                                   event->body.begin() + static_cast<std::ptrdiff_t>(size)};
      piece.shrink_to_fit();
      const auto fed = feed.feed({.header = event->header, .body = piece});
      if (!fed) {
        ASSERT_EQ(fed.error().code, errc::malformed_message) << fed.error().detail;
      }
    }
    if (event->header.type == event_type::table_map) {
      ASSERT_TRUE(feed.feed(*event));
    }
    feed.rows = whole_before;
  }
}

TEST_P(real_log, has_frames_of_another_size_refused) {
  const auto log = read_log(GetParam().name);
  std::span<const std::byte> left{log};
  const auto first = left;
  ASSERT_TRUE(binlog_feed::next(left));
  const auto size = first.size() - left.size();
  for (std::size_t shorter = 0; shorter < size; ++shorter) {
    const auto got = read_event(first.first(shorter), checksum::off);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, errc::malformed_message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    of, real_log,
    testing::Values(log_case{"mysql_numbers_and_times", 19}, log_case{"mysql_text", 11},
                    log_case{"mysql_json", 49}, log_case{"mysql_gtids", 1},
                    log_case{"mysql_partial_minimal_payload", 1014}, log_case{"mariadb_types", 17},
                    log_case{"mariadb_text", 11}, log_case{"mariadb_compressed", 904}),
    [](const auto& it) { return std::string{it.param.name}; });

TEST(real_logs, tell_tagged_gtids) {
  binlog_feed feed;
  const auto log = read_log("mysql_gtids");
  ASSERT_TRUE(feed.feed_all(log));
  EXPECT_EQ(feed.gtids, (std::vector<std::string>{":24", "tagx:1", "tagx:2"}));
  ASSERT_EQ(feed.previous.size(), 2u);
  EXPECT_EQ(feed.previous[0].tag, "");
  EXPECT_EQ(feed.previous[1].tag, "tagx");
  EXPECT_EQ(feed.previous[1].intervals, (std::vector<gtid_interval>{{1, 3}}));
}

} // namespace
} // namespace cdc::sources::mysql
