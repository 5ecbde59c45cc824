#include "sources/mysql/coordinates.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::mysql {

TEST(coordinates, turn_a_place_into_a_token_and_back) {
  const auto in = *coordinates::starting_in("bin.000042");
  const auto at = *in.token("bin.000042", 1337);

  EXPECT_EQ(at.token, (std::uint64_t{42} << 32) + 1337);
  EXPECT_EQ(in.place(at), (log_place{"bin.000042", 1337}));
  EXPECT_EQ(in.describe(at), "bin.000042:1337");
  EXPECT_LT(at, *in.token("bin.000043", 4));
}

TEST(coordinates, grow_over_a_change_of_the_server) {
  const auto old = *coordinates::starting_in("bin.000042");
  const auto used = *old.token("bin.000099", 5);
  const auto now = *old.renewed(used, "log-x.000003");
  const auto first = *now.token("log-x.000003", 4);

  EXPECT_GT(first, used);
  EXPECT_EQ(now.place(used), (log_place{"bin.000099", 5}));
  EXPECT_EQ(now.place(first), (log_place{"log-x.000003", 4}));
  EXPECT_FALSE(now.is_current(used));
  EXPECT_TRUE(now.is_current(first));
  EXPECT_FALSE(now.token("log-x.000002", 4));
}

TEST(coordinates, are_stored_as_text) {
  const auto old = *coordinates::starting_in("my bin.000042");
  const auto now = *old.renewed(*old.token("my bin.000050", 4), "b.000001");

  EXPECT_EQ(*coordinates::parse(now.to_text()), now);
  EXPECT_EQ(*coordinates::parse(old.to_text()), old);
  for (const auto* text : {"x", "0 0", "0 0 ", "5 0 a\n5 0 b", "0 x a"})
    EXPECT_FALSE(coordinates::parse(text)) << text;
}

TEST(coordinates, refuse_a_place_beyond_what_they_can_say) {
  const auto in = *coordinates::starting_in("bin.000001");

  EXPECT_TRUE(in.token("bin.524287", 4));
  EXPECT_FALSE(in.token("bin.524288", 4));
  EXPECT_FALSE(in.token("bin", 4));
}

TEST(coordinates, read_the_text_of_a_checkpoint_with_or_without_what_is_behind_it) {
  const auto plain = *parse_described_place("bin.000042:1337");
  EXPECT_EQ(plain.at, (log_place{"bin.000042", 1337}));
  const auto full = *parse_described_place("a:b.000042:7;gtid=x:1-3,y:1;new=1;base=5");
  EXPECT_EQ(full.at, (log_place{"a:b.000042", 7}));
  EXPECT_EQ(full.gtid, "x:1-3,y:1");
  EXPECT_EQ(full.base, 5u);
  for (const auto* text : {"", "bin.000042", "bin:", ":5", "bin:x", "bin:5;base=x"})
    EXPECT_FALSE(parse_described_place(text)) << text;
}

} // namespace cdc::sources::mysql
