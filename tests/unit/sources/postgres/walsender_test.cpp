#include "sources/postgres/walsender.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/pgoutput_messages.hpp"

namespace cdc::sources::postgres {
namespace {

using namespace std::chrono_literals;
using tests::bytes;

TEST(walsender, hands_out_the_payload_of_data) {
  const bytes payload{std::byte{'B'}, std::byte{1}};
  const auto message = tests::framed(payload);
  const auto got = decode_frame(message);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->what, frame::type::data);
  EXPECT_TRUE(std::ranges::equal(got->payload, payload));
}

TEST(walsender, reads_a_keepalive) {
  const auto message = tests::keepalive(0x153bc50, true);
  const auto got = decode_frame(message);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->what, frame::type::keepalive);
  EXPECT_EQ(got->log_end, position{0x153bc50});
  EXPECT_TRUE(got->wants_reply);
  EXPECT_FALSE(decode_frame(tests::keepalive(1, false))->wants_reply);
}

TEST(walsender, refuses_every_prefix_of_a_message) {
  for (const auto& message : {tests::framed({}), tests::keepalive(7)}) {
    for (std::size_t size = 0; size < message.size(); ++size) {
      const auto got = decode_frame(std::span{message}.first(size));
      ASSERT_FALSE(got) << size;
      EXPECT_EQ(got.error().code, errc::malformed_message);
    }
    EXPECT_TRUE(decode_frame(message));
  }
}

TEST(walsender, refuses_bytes_behind_a_keepalive_and_unknown_letters) {
  auto message = tests::keepalive(7);
  message.push_back(std::byte{0});
  const auto longer = decode_frame(message);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().detail, "walsender keepalive: too long at offset 18 of 19 bytes");
  message.front() = std::byte{'x'};
  const auto unknown = decode_frame(message);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().detail, "walsender: unknown message 0x78 of 19 bytes");
}

TEST(walsender, writes_a_status_update_as_the_protocol_has_it) {
  const auto y2k = std::chrono::system_clock::time_point{946'684'800s};
  const auto written = encode({.durable = {0x0102030405060708}, .wants_reply = true}, y2k + 258us);
  const bytes expected = tests::message_writer{'r'}
                             .u64(0x0102030405060708)
                             .u64(0x0102030405060708)
                             .u64(0x0102030405060708)
                             .u64(258)
                             .u8(1);
  EXPECT_TRUE(std::ranges::equal(written, expected));
  EXPECT_EQ(encode({.durable = {1}}, y2k).back(), std::byte{0});
}

} // namespace
} // namespace cdc::sources::postgres
