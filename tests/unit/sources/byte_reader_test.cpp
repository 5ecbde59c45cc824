#include "sources/byte_reader.hpp"

#include <array>

#include <gtest/gtest.h>

namespace cdc::sources {
namespace {

constexpr std::array message{std::byte{0x01}, std::byte{0x02}, std::byte{0x03}, std::byte{0x04},
                             std::byte{'a'},  std::byte{'b'},  std::byte{0},    std::byte{0xff}};

TEST(byte_reader, reads_big_endian_integers_of_every_size) {
  EXPECT_EQ(byte_reader{message}.integer<std::uint8_t>(), 0x01u);
  EXPECT_EQ(byte_reader{message}.integer<std::uint16_t>(), 0x0102u);
  EXPECT_EQ(byte_reader{message}.integer<std::uint32_t>(), 0x01020304u);
  EXPECT_EQ(byte_reader{message}.integer<std::uint64_t>(), 0x01020304616200ffu);
}

TEST(byte_reader, reads_a_string_up_to_and_over_its_nul) {
  byte_reader in{message};
  EXPECT_EQ(in.integer<std::uint32_t>(), 0x01020304u);
  EXPECT_EQ(in.c_string(), "ab");
  EXPECT_EQ(in.offset(), 7u);
  EXPECT_FALSE(in.complete());
  EXPECT_EQ(in.integer<std::uint8_t>(), 0xffu);
  EXPECT_TRUE(in.complete());
}

TEST(byte_reader, fails_for_good_at_the_first_read_past_the_end) {
  byte_reader in{std::span{message}.first(3)};
  EXPECT_EQ(in.integer<std::uint32_t>(), 0u);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.integer<std::uint8_t>(), 0u);
  EXPECT_EQ(in.text(1), "");
  EXPECT_EQ(in.c_string(), "");
  EXPECT_EQ(in.offset(), 0u);
  EXPECT_FALSE(in.complete());
}

TEST(byte_reader, fails_on_a_string_without_a_nul) {
  byte_reader in{std::span{message}.subspan(4, 2)};
  EXPECT_EQ(in.c_string(), "");
  EXPECT_TRUE(in.failed());
}

TEST(byte_reader, is_not_fooled_by_a_length_near_the_largest) {
  byte_reader in{message};
  EXPECT_EQ(in.integer<std::uint8_t>(), 1u);
  EXPECT_EQ(in.text(static_cast<std::size_t>(-1)), "");
  EXPECT_TRUE(in.failed());
}

TEST(byte_reader, reads_nothing_from_nothing) {
  byte_reader in{{}};
  EXPECT_TRUE(in.complete());
  EXPECT_EQ(in.text(0), "");
  EXPECT_TRUE(in.complete());
  EXPECT_EQ(in.c_string(), "");
  EXPECT_TRUE(in.failed());
}

} // namespace
} // namespace cdc::sources
