#include "sinks/json_writer.hpp"

#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "messages/json.hpp"

namespace cdc::sinks {

namespace {

std::string written(std::string_view text) {
  json_writer out;
  out.string(text);
  return std::string(out.text());
}

TEST(json_writer, escapes_what_json_asks_for_and_nothing_else) {
  EXPECT_EQ(written(""), R"("")");
  EXPECT_EQ(written("plain text/with slashes"), R"("plain text/with slashes")");
  EXPECT_EQ(written("\"\\\n\r\t"), R"("\"\\\n\r\t")");
  EXPECT_EQ(written(std::string_view("\0\x01\x1f", 3)), R"("\u0000\u0001\u001f")");
  EXPECT_EQ(written("\x7f"), "\"\x7f\"");
}

TEST(json_writer, keeps_utf8_and_replaces_what_is_not) {
  EXPECT_EQ(written("grün 中国 🚀"), "\"grün 中国 🚀\"");
  EXPECT_EQ(written("a\xffz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(written("\xe4\xb8"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "a sequence cut short";
  EXPECT_EQ(written("\xed\xa0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "a surrogate";
}

TEST(json_writer, finds_a_special_byte_at_every_place_of_every_length) {
  for (std::size_t length = 1; length < 70; ++length)
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'x');
      text[at] = '"';
      std::string expected =
          '"' + std::string(at, 'x') + "\\\"" + std::string(length - at - 1, 'x') + '"';
      ASSERT_EQ(written(text), expected) << length << " " << at;
    }
}

TEST(json_writer, agrees_with_the_plain_writer_on_random_bytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const auto size = random() % 100;
    const auto range = i % 2 == 0 ? 256U : 0x30U; // mostly specials, or mostly anything
    for (std::size_t k = 0; k < size; ++k)
      text += static_cast<char>(random() % range);
    std::string expected;
    json::append_string(expected, text);
    ASSERT_EQ(written(text), expected);
  }
}

TEST(json_writer, grows_without_losing_what_is_there) {
  json_writer out;
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    out.raw("ab");
    out.raw(',');
    out.number(static_cast<std::uint64_t>(i));
    expected += "ab," + std::to_string(i);
  }
  EXPECT_EQ(out.text(), expected);
  out.clear();
  EXPECT_EQ(out.text(), "");
  out.number(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out.text(), "18446744073709551615");
}

TEST(json_number, is_what_the_grammar_says) {
  for (const char* good : {"0", "-0", "1", "-12", "1.50", "0.001", "1e5", "1E+5", "-1.5e-300",
                           "99999999999999999999999999"})
    EXPECT_TRUE(is_json_number(good)) << good;
  for (const char* bad : {"", "-", "+1", "01", "-01", ".5", "5.", "1e", "1e+", "NaN", "Infinity",
                          "1 ", " 1", "0x1", "1.2.3", "1,5", "--1"})
    EXPECT_FALSE(is_json_number(bad)) << bad;
}

} // namespace

} // namespace cdc::sinks
