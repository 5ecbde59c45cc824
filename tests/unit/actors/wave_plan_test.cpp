#include "actors/wave_plan.hpp"

#include <gtest/gtest.h>

namespace cdc::actors {

namespace {

load_plan plan_of(std::size_t ranges, std::uint64_t rows, range_scheme scheme = range_scheme::key) {
  load_plan out;
  out.scheme = scheme;
  out.ranges.resize(ranges);
  out.rows_estimate = rows;
  return out;
}

table_progress progress_of(std::vector<bool> done) {
  table_progress out;
  out.plan = plan_of(done.size(), 100);
  out.done = std::move(done);
  return out;
}

using ranges = std::vector<range_ref>;

TEST(wave_plan, holds_ranges_of_several_tables_in_one_wave) {
  wave_plan plan;
  plan.add({});
  plan.add({});
  plan.planned(0, plan_of(2, 100));
  plan.planned(1, plan_of(1, 100));

  EXPECT_EQ(plan.next_wave(), (ranges{{0, 0}, {0, 1}, {1, 0}}));
}

TEST(wave_plan, ends_a_wave_at_its_rows_or_its_ranges) {
  wave_plan by_rows{{.rows = 50, .ranges = 10}};
  by_rows.add({});
  by_rows.planned(0, plan_of(10, 200));
  EXPECT_EQ(by_rows.next_wave().size(), 3u);

  wave_plan by_ranges{{.rows = 1000, .ranges = 4}};
  by_ranges.add({});
  by_ranges.planned(0, plan_of(10, 200));
  EXPECT_EQ(by_ranges.next_wave().size(), 4u);
}

TEST(wave_plan, has_one_wave_open_at_a_time) {
  wave_plan plan{{.rows = 1000, .ranges = 1}};
  plan.add({});
  plan.planned(0, plan_of(2, 200));

  EXPECT_EQ(plan.next_wave(), (ranges{{0, 0}}));
  EXPECT_EQ(plan.next_wave(), ranges{});
  plan.wave_done();
  EXPECT_EQ(plan.next_wave(), (ranges{{0, 1}}));
  EXPECT_FALSE(plan.finished());
  plan.wave_done();
  EXPECT_TRUE(plan.finished());
}

TEST(wave_plan, waits_for_plans_before_it_opens_a_wave_that_is_not_full) {
  wave_plan plan{{.rows = 1000, .ranges = 4}};
  plan.add({});
  plan.add({});
  EXPECT_EQ(plan.next_to_plan(), 0);
  EXPECT_EQ(plan.next_to_plan(), 1);
  EXPECT_EQ(plan.next_to_plan(), std::nullopt);

  plan.planned(0, plan_of(1, 10));
  EXPECT_EQ(plan.next_wave(), ranges{});
  plan.planned(1, plan_of(1, 10));
  EXPECT_EQ(plan.next_wave(), (ranges{{0, 0}, {1, 0}}));
}

TEST(wave_plan, does_not_wait_for_plans_when_a_wave_is_full) {
  wave_plan plan{{.rows = 1000, .ranges = 2}};
  plan.add({});
  plan.add({});
  plan.planned(0, plan_of(5, 10));

  EXPECT_EQ(plan.next_wave(), (ranges{{0, 0}, {0, 1}}));
}

TEST(wave_plan, asks_again_for_a_plan_that_was_lost) {
  wave_plan plan;
  plan.add({});
  EXPECT_EQ(plan.next_to_plan(), 0);
  plan.plan_again(0);
  EXPECT_EQ(plan.next_to_plan(), 0);
}

TEST(wave_plan, leaves_out_what_an_earlier_life_has_done) {
  wave_plan plan;
  plan.add(progress_of({true, false, true, false}));
  EXPECT_EQ(plan.next_to_plan(), std::nullopt);
  EXPECT_EQ(plan.next_wave(), (ranges{{0, 1}, {0, 3}}));
}

TEST(wave_plan, reads_a_void_wave_again) {
  wave_plan plan{{.rows = 1000, .ranges = 2}};
  plan.add({});
  plan.planned(0, plan_of(3, 30));
  const auto first = plan.next_wave();
  plan.wave_void();
  EXPECT_FALSE(plan.is_open());
  EXPECT_EQ(plan.next_wave(), first);
}

TEST(wave_plan, reads_tables_without_a_key_alone_and_last) {
  wave_plan plan;
  plan.add({});
  plan.add({});
  plan.add({});
  plan.planned(0, plan_of(1, 10, range_scheme::keyless));
  plan.planned(1, plan_of(1, 10));
  plan.planned(2, plan_of(1, 10, range_scheme::keyless));

  EXPECT_EQ(plan.next_wave(), (ranges{{1, 0}}));
  plan.wave_done();
  EXPECT_EQ(plan.next_wave(), (ranges{{0, 0}}));
  plan.wave_done();
  EXPECT_EQ(plan.next_wave(), (ranges{{2, 0}}));
  plan.wave_done();
  EXPECT_TRUE(plan.finished());
}

TEST(wave_plan, is_finished_when_there_is_no_table) {
  EXPECT_TRUE(wave_plan{}.finished());
}

} // namespace

} // namespace cdc::actors
