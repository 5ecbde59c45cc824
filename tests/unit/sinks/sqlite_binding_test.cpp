#include <gtest/gtest.h>

#include "sinks/sqlite/binding.hpp"
#include "sinks/sqlite/column_type.hpp"

namespace cdc::sinks::sqlite {

namespace {

TEST(hex, is_decoded_or_refused) {
  std::array<char, 8> out{};
  EXPECT_TRUE(decode_hex("\\x", out.data()));
  ASSERT_TRUE(decode_hex("\\x00fFA9", out.data()));
  EXPECT_EQ(std::string(out.data(), 3), std::string("\x00\xff\xa9", 3));
  for (const char* bad : {"", "\\", "00", "\\x0", "\\xg0", "\\x0g", "\\x 0"})
    EXPECT_FALSE(decode_hex(bad, out.data())) << bad;
}

TEST(column_type, holds_every_value_or_says_no) {
  // STRICT tables check what they are given.
  EXPECT_TRUE(holds("INT", true, "INTEGER"));
  EXPECT_TRUE(holds("any", true, "INTEGER"));
  EXPECT_TRUE(holds("ANY", true, "BLOB"));
  EXPECT_FALSE(holds("REAL", true, "ANY")) << "NaN is a text";
  EXPECT_FALSE(holds("TEXT", true, "INTEGER"));
  EXPECT_FALSE(holds("INTEGER", true, "TEXT"));
  EXPECT_FALSE(holds("TEXT", true, "BLOB"));
  // Others convert by affinity, and must not.
  EXPECT_TRUE(holds("BIGINT", false, "INTEGER"));
  EXPECT_TRUE(holds("DECIMAL(10,5)", false, "INTEGER"));
  EXPECT_TRUE(holds("", false, "TEXT"));
  EXPECT_TRUE(holds("VARCHAR(3)", false, "TEXT"));
  EXPECT_TRUE(holds("DOUBLE PRECISION", false, "ANY"));
  EXPECT_TRUE(holds("NUMERIC", false, "BLOB")) << "a blob is never converted";
  EXPECT_FALSE(holds("STRING", false, "TEXT")) << "numeric affinity: 007 would be 7";
  EXPECT_FALSE(holds("NUMERIC", false, "TEXT"));
  EXPECT_FALSE(holds("TEXT", false, "INTEGER"));
  EXPECT_FALSE(holds("REAL", false, "INTEGER")) << "2^63 - 1 would be 2^63";
  EXPECT_FALSE(holds("FLOATING POINT", false, "ANY")) << "the affinity is INTEGER: 3.0 would be 3";
}

} // namespace

} // namespace cdc::sinks::sqlite
