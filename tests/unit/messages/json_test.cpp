#include "messages/json.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cdc::json {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

std::string number(double value) {
  std::string out;
  append_number(out, value);
  return out;
}

TEST(json, leaves_plain_text_alone) {
  EXPECT_EQ(quoted("a b/c"), R"("a b/c")");
}

TEST(json, escapes_quotes_backslashes_and_control_characters) {
  using namespace std::string_view_literals;

  EXPECT_EQ(quoted("a\"b\\c\nd\te\rf\0g\x1f"sv), R"("a\"b\\c\nd\te\rf\u0000g\u001f")");
}

TEST(json, keeps_well_formed_utf8_of_every_length) {
  EXPECT_EQ(quoted("é€𝄞"), "\"é€𝄞\"");
  EXPECT_EQ(quoted("\xF4\x8F\xBF\xBF"), "\"\xF4\x8F\xBF\xBF\"");
}

TEST(json, replaces_bytes_that_are_not_utf8) {
  EXPECT_EQ(quoted("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(quoted("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "overlong";
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "surrogate";
  EXPECT_EQ(quoted("\xF4\x90\x80\x80").size(), 4U * 3 + 2) << "beyond U+10FFFF";
  EXPECT_EQ(quoted("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "cut off";
}

TEST(json, writes_numbers_that_read_back_the_same) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(-2), "-2");
  EXPECT_EQ(std::stod(number(1.0 / 3)), 1.0 / 3);
}

TEST(json, has_no_word_for_infinity) {
  EXPECT_EQ(number(std::nan("")), "null");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "null");
}

TEST(json_writer, puts_commas_between_members_and_elements_only) {
  std::string out;
  writer json{out};

  json.begin_object().member("a", 1).key("b").begin_array();
  json.value("x").begin_object().end_object().null().value(true).end_array();
  json.key("c").begin_array().end_array().member("d", std::uint64_t{18446744073709551615U});
  json.end_object();

  EXPECT_EQ(out, R"({"a":1,"b":["x",{},null,true],"c":[],"d":18446744073709551615})");
}

} // namespace
} // namespace cdc::json
