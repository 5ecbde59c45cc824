#include "messages/load.hpp"

#include <gtest/gtest.h>

namespace cdc {
namespace {

table_progress half_loaded() {
  return {.plan = {.scheme = range_scheme::key,
                   .ranges = {{.from = {}, .to = {"10"}},
                              {.from = {"10"}, .to = {"20"}},
                              {.from = {"20"}, .to = {"30"}},
                              {.from = {"30"}, .to = {}}},
                   .rows_estimate = 12345},
          .done = {true, true, false, true}};
}

TEST(load_progress, reads_back_what_it_wrote) {
  const auto progress = half_loaded();

  EXPECT_EQ(parse_progress(to_text(progress)), progress);
}

TEST(load_progress, keeps_any_byte_of_a_bound) {
  auto progress = half_loaded();
  std::string every;
  for (int byte = 0; byte < 256; ++byte)
    every += static_cast<char>(byte);
  progress.plan.ranges[1].from = {every, "", "to", "=", "%", " "};
  progress.plan.ranges[2].to = {"", ""};

  const auto text = to_text(progress);

  EXPECT_EQ(parse_progress(text), progress);
  for (const auto character : text)
    EXPECT_TRUE(character == '\n' || (character >= 0x20 && character < 0x7f));
}

TEST(load_progress, tells_an_open_bound_from_an_empty_value) {
  auto open = half_loaded();
  auto empty = half_loaded();
  empty.plan.ranges.back().to = {""};

  EXPECT_NE(to_text(open), to_text(empty));
  EXPECT_EQ(parse_progress(to_text(empty)), empty);
}

TEST(load_progress, keeps_the_snapshot_of_a_table_without_a_key) {
  const table_progress progress{.plan = {.scheme = range_scheme::keyless, .ranges = {{}}},
                                .done = {true},
                                .keyless = snapshot{728, 731, {728, 730}},
                                .keyless_until = {99}};

  EXPECT_EQ(parse_progress(to_text(progress)), progress);
}

TEST(load_progress, keeps_page_ranges_apart_from_key_ranges) {
  const table_progress progress{
      .plan = {.scheme = range_scheme::opaque, .by_page = true, .ranges = {{{"0"}, {"64"}}}},
      .done = {false}};

  EXPECT_EQ(parse_progress(to_text(progress)), progress);
}

TEST(load_progress, says_which_table_it_is_of_and_whether_it_was_left) {
  auto progress = half_loaded();
  progress.table_oid = 4294967295;
  progress.published_by = 16501;
  progress.is_left = true;
  EXPECT_EQ(parse_progress(to_text(progress)), progress);
}

TEST(load_progress, refuses_every_change_of_its_first_line) {
  const auto text = to_text(half_loaded());

  EXPECT_FALSE(parse_progress(""));
  EXPECT_FALSE(parse_progress("load 2" + text.substr(6)));
  EXPECT_FALSE(parse_progress("\n" + text));
}

TEST(load_progress, refuses_a_range_that_the_plan_does_not_have) {
  EXPECT_FALSE(parse_progress("load 1\nscheme key\ndone 1\nrange to\n"));
  EXPECT_FALSE(parse_progress("load 1\nscheme key\ndone 1-0\nrange to\nrange to\n"));
  EXPECT_TRUE(parse_progress("load 1\nscheme key\ndone 0\nrange to\n"));
}

TEST(load_progress, refuses_lines_it_does_not_know) {
  EXPECT_FALSE(parse_progress("load 1\nscheme sideways\n"));
  EXPECT_FALSE(parse_progress("load 1\ncolour blue\n"));
  EXPECT_FALSE(parse_progress("load 1\nrange =%4\n"));
  EXPECT_FALSE(parse_progress("load 1\nrange =%zz to\n"));
  EXPECT_FALSE(parse_progress("load 1\nrange to to\n"));
  EXPECT_FALSE(parse_progress("load 1\nrows -1\n"));
  EXPECT_FALSE(parse_progress("load 1\nseen 5 nothing\n"));
}

TEST(load_progress, is_finished_when_every_range_is) {
  auto progress = half_loaded();
  EXPECT_FALSE(progress.finished());

  progress.done.assign(4, true);
  EXPECT_TRUE(progress.finished());

  progress.done.pop_back();
  EXPECT_FALSE(progress.finished());
  EXPECT_FALSE(table_progress{}.finished());
}

} // namespace
} // namespace cdc
