#include <gtest/gtest.h>

#include "sources/mysql/gtid_set.hpp"
#include "sources/mysql/gtid_state.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr auto one = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
constexpr auto other = "8de2a1b0-0000-11f0-8000-000000000001";

gtid_set set_of(const std::string& text) {
  return *gtid_set::parse(text);
}

std::string with(const char* uuid, const std::string& numbers) {
  return std::string{uuid} + ":" + numbers;
}

} // namespace

TEST(gtid_set, is_written_as_it_is_read) {
  for (const auto& text : {with(one, "1"), with(one, "1-5:7:9-12"),
                           with(one, "1-5:tagx:1-3:7") + "," + with(other, "1"), std::string{}})
    EXPECT_EQ(to_string(set_of(text)), text);
  EXPECT_EQ(to_string(set_of(with(one, "1-3") + ",\n " + with(other, "4"))),
            with(one, "1-3") + "," + with(other, "4"));
}

TEST(gtid_set, puts_numbers_together) {
  auto set = set_of(with(one, "1-3:7-9"));
  const auto source = *parse_gtid_source(one);
  for (const auto number : {4, 6, 5, 12, 10, 2})
    set.add(source, static_cast<std::uint64_t>(number));

  EXPECT_EQ(to_string(set), with(one, "1-10:12"));
}

TEST(gtid_set, keeps_tags_apart_and_in_small_letters) {
  const auto set = set_of(with(one, "1:TagX:5"));

  EXPECT_TRUE(set.has_tags());
  EXPECT_TRUE(set.contains(*parse_gtid_source(with(one, "tagx")), 5));
  EXPECT_FALSE(set.contains(*parse_gtid_source(one), 5));
}

TEST(gtid_set, contains_a_set_only_whole) {
  const auto set = set_of(with(one, "1-10") + "," + with(other, "3"));

  EXPECT_TRUE(set.contains(set_of(with(one, "2-10"))));
  EXPECT_TRUE(set.contains(set_of("")));
  EXPECT_FALSE(set.contains(set_of(with(one, "2-11"))));
  EXPECT_FALSE(set.contains(set_of(with(other, "2-3"))));
  EXPECT_FALSE(set.contains(set_of(with(one, "x:1"))));
}

TEST(gtid_set, makes_a_snapshot_that_is_sure_of_its_own) {
  const auto set = set_of(with(one, "1-10:20"));
  const auto seen = set.as_snapshot();
  const auto source = *parse_gtid_source(one);

  EXPECT_TRUE(seen.is_sure_of(id_of(source, 1)));
  EXPECT_TRUE(seen.is_sure_of(id_of(source, 20)));
  EXPECT_FALSE(seen.is_sure_of(id_of(source, 11)));
  EXPECT_FALSE(seen.is_sure_of(id_of(*parse_gtid_source(other), 1)));
  EXPECT_FALSE(gtid_set{}.as_snapshot().is_sure_of(id_of(source, 1)));
}

TEST(gtid_set, is_encoded_with_and_without_tags) {
  const auto plain = set_of(with(one, "1-5")).encoded();
  ASSERT_EQ(plain.size(), 8u + 16 + 8 + 16);
  EXPECT_EQ(plain.substr(0, 8), std::string("\x01\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(plain.substr(32), std::string("\x01\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0", 16));

  const auto tagged = set_of(with(one, "1-5:tagx:1")).encoded();
  EXPECT_EQ(tagged.substr(0, 8), std::string("\x01\x02\0\0\0\0\0\x01", 8));
  EXPECT_EQ(tagged.substr(24, 1), std::string("\0", 1));
  EXPECT_EQ(tagged.substr(8 + 16 + 1 + 8 + 16 + 16, 5), "\x08tagx");
}

TEST(gtid_set, refuses_what_is_none) {
  for (const auto& text :
       {std::string{"x"}, std::string{one}, with(one, "0"), with(one, "5-3"), with(one, "1-"),
        with(one, "tagx"), std::string{"3e11fa47-71ca-11e1-9e33:1"}})
    EXPECT_FALSE(gtid_set::parse(text)) << text;
}

TEST(gtid_state, is_written_as_it_is_read_and_compares_by_domain) {
  auto state = *gtid_state::parse("0-1-42,7-2-9");
  EXPECT_EQ(to_string(state), "0-1-42,7-2-9");
  EXPECT_TRUE(state.contains(*gtid_state::parse("0-3-41")));
  EXPECT_FALSE(state.contains(*gtid_state::parse("1-1-1")));

  state.add({.domain = 0, .server = 3, .number = 43});
  EXPECT_EQ(to_string(state), "0-3-43,7-2-9");
}

TEST(gtid_state, refuses_what_is_none) {
  for (const auto* text : {"x", "0-1", "0-1-", "0-1-2,", "0-1-2,0-1-3", "0-1-2x"})
    EXPECT_FALSE(gtid_state::parse(text)) << text;
}

} // namespace cdc::sources::mysql
