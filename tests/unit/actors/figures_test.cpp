#include "actors/figures.hpp"

#include <gtest/gtest.h>

namespace cdc::actors {
namespace {

TEST(figures, put_commas_into_counts) {
  EXPECT_EQ(spell_count(0), "0");
  EXPECT_EQ(spell_count(999), "999");
  EXPECT_EQ(spell_count(1000), "1,000");
  EXPECT_EQ(spell_count(12345678), "12,345,678");
}

TEST(figures, shorten_rates) {
  EXPECT_EQ(spell_rate(-1), "0");
  EXPECT_EQ(spell_rate(0.25), "0.2");
  EXPECT_EQ(spell_rate(9.96), "10");
  EXPECT_EQ(spell_rate(999.4), "999");
  EXPECT_EQ(spell_rate(999.6), "1.0 k");
  EXPECT_EQ(spell_rate(12345), "12.3 k");
  EXPECT_EQ(spell_rate(310'400), "310 k");
  EXPECT_EQ(spell_rate(999'960), "1.00 M");
}

TEST(figures, choose_the_unit_of_bytes) {
  EXPECT_EQ(spell_bytes(0), "0 B");
  EXPECT_EQ(spell_bytes(1023), "1023 B");
  EXPECT_EQ(spell_bytes(1024), "1.0 KiB");
  EXPECT_EQ(spell_bytes(10 * 1024), "10 KiB");
  EXPECT_EQ(spell_bytes(std::uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(spell_bytes(~std::uint64_t{0}), "16384 PiB");
}

TEST(figures, choose_the_units_of_durations) {
  EXPECT_EQ(spell_duration(-1), "0 s");
  EXPECT_EQ(spell_duration(0.44), "0.4 s");
  EXPECT_EQ(spell_duration(59.4), "59 s");
  EXPECT_EQ(spell_duration(59.6), "1 min 0 s");
  EXPECT_EQ(spell_duration(7500), "2 h 5 min");
  EXPECT_EQ(spell_duration(90'000), "1 d 1 h");
}

TEST(figures, write_times_in_utc_to_the_millisecond) {
  EXPECT_EQ(spell_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(spell_time(1'796'056'801'123'999), "2026-11-30T16:40:01.123Z");
}

TEST(figures, keep_text_on_one_line_and_off_the_terminal) {
  EXPECT_EQ(one_line("a\nb\x1b[2Jc\x7f\té\n"), "a\\nb\\x1b[2Jc\\x7f é\\n");
  EXPECT_EQ(printable("a\nb\r\xc2\x9b"
                      "2J\xc2\xa0"),
            "a\nb\\x0d\\u009b2J\xc2\xa0");
}

TEST(figures, count_columns_not_bytes) {
  EXPECT_EQ(width_of("├─ é"), 4U);
  EXPECT_EQ(padded("é", 3), "é  ");
  EXPECT_EQ(padded("abc", 2), "abc");
  EXPECT_EQ(cut_to("äbcd", 3), "äb…");
  EXPECT_EQ(cut_to("äbc", 3), "äbc");
  EXPECT_EQ(cut_to("abc", 1), "…");
  EXPECT_EQ(cut_to("abc", 0), "");
}

} // namespace
} // namespace cdc::actors
