#include "sinks/ndjson/stored_state.hpp"

#include <gtest/gtest.h>

namespace cdc::sinks::ndjson {

namespace {

stored_state example() {
  stored_state out;
  out.kept.stream = {"postgres", "73", "slot with blanks", "db%20", ""};
  out.kept.epoch = 9;
  out.kept.resume = checkpoint{{123}, {122}};
  out.kept.records = {{"load \n x", "a\nb"}, {"empty", ""}};
  out.kept.listed = {{"items", std::string("\0\0\0\1"
                                           "7",
                                           5)},
                     {"", "\xff%"}};
  out.serial = 4;
  out.file = 3;
  out.bytes = 1'000'000'007;
  out.boot = "0b7a";
  out.written_at = -5;
  return out;
}

TEST(stored_state, comes_back_as_it_was) {
  const auto back = parse_state(to_text(example()));
  ASSERT_TRUE(back) << back.error().detail;
  EXPECT_EQ(*back, example());
  const auto empty = parse_state(to_text({}));
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, stored_state{});
}

TEST(stored_state, refuses_every_prefix) {
  const auto text = to_text(example());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse_state(std::string_view(text).substr(0, size))) << size;
}

TEST(stored_state, refuses_any_byte_that_changed) {
  const auto text = to_text(example());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto torn = text;
    torn[i] = static_cast<char>(torn[i] ^ 1);
    EXPECT_FALSE(parse_state(torn)) << i << " of " << text;
  }
}

TEST(stored_state, refuses_what_it_never_wrote) {
  EXPECT_FALSE(parse_state("\n"));
  EXPECT_FALSE(parse_state("{\"json\":true}\n"));
  EXPECT_FALSE(parse_state(to_text(example()) + "more\n"));
}

} // namespace

} // namespace cdc::sinks::ndjson
