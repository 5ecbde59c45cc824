#include "sources/postgres/lsn.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::postgres {
namespace {

TEST(lsn, is_written_as_the_server_writes_it) {
  EXPECT_EQ(to_lsn({}), "0/0");
  EXPECT_EQ(to_lsn({0x153bc50}), "0/153BC50");
  EXPECT_EQ(to_lsn({0x16'b374'd848}), "16/B374D848");
}

TEST(lsn, is_read_back_in_either_case) {
  for (const auto* text : {"0/0", "0/153BC50", "16/B374D848", "7FFFF/FFFFFFFF"}) {
    const auto read = parse_lsn(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(to_lsn(*read), text);
  }
  EXPECT_EQ(parse_lsn("a/b")->token, 0xa'0000'000bu);
}

TEST(lsn, refuses_what_is_not_one) {
  for (const auto* text : {"", "/", "0/", "/0", "0", "0/0/0", "0/x", "+0/0", "-1/0", " 0/0", "0/0 ",
                           "0x1/0", "123456789/0", "0/123456789"}) {
    const auto read = parse_lsn(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, errc::malformed_message);
  }
}

TEST(lsn, refuses_a_log_too_long_for_versions) {
  const auto read = parse_lsn("80000/0");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::source_misconfigured);
}

} // namespace
} // namespace cdc::sources::postgres
