#include "cli/progress.hpp"

#include <gtest/gtest.h>

namespace cdc::cli {

namespace {

actors::board_view loading() {
  actors::board_view seen;
  auto& pipeline = seen.pipelines.emplace_back();
  pipeline.name = "shop";
  pipeline.state = actors::pipeline_state::loading;
  pipeline.tables = {
      {.name = "public.done",
       .sink = "t",
       .state = actors::table_state::loaded,
       .rows = 100,
       .rows_estimate = 90},
      {.name = "public.orders",
       .sink = "t",
       .state = actors::table_state::loading,
       .rows = 500,
       .rows_estimate = 1100},
  };
  return seen;
}

actors::flow_view at_rate(double copied, double streamed = 0) {
  actors::flow_view flow;
  flow.pipelines.emplace_back();
  flow.pipelines.back().copied_rows_per_second = copied;
  flow.pipelines.back().streamed_rows_per_second = streamed;
  return flow;
}

TEST(progress, shows_a_bar_the_table_the_rate_and_the_time_left_while_loading) {
  EXPECT_EQ(progress_line(loading(), at_rate(100), 200),
            "shop  load [##########..........] 50%  public.orders  600 of 1,200 rows  100 rows/s  "
            "6.0 s left");
}

TEST(progress, says_why_a_load_stands_still) {
  auto seen = loading();
  seen.pipelines.front().load_paused = "the log holds back too much";
  EXPECT_NE(progress_line(seen, at_rate(0), 200).find("paused: the log holds back too much"),
            std::string::npos);
}

TEST(progress, never_says_all_before_the_end) {
  auto seen = loading();
  seen.pipelines.front().tables[1].rows = 5000;
  EXPECT_NE(progress_line(seen, at_rate(1), 200).find("99%"), std::string::npos);
}

TEST(progress, shows_the_state_once_every_table_is_loaded) {
  auto seen = loading();
  auto& pipeline = seen.pipelines.front();
  pipeline.state = actors::pipeline_state::streaming;
  pipeline.lag_bytes = 1536;
  pipeline.events_row = 1234567;
  EXPECT_EQ(progress_line(seen, at_rate(0, 12), 200),
            "shop  streaming  12 rows/s  1.5 KiB behind  1,234,567 rows");
}

TEST(progress, shows_what_is_left_to_catch_up_with) {
  auto seen = loading();
  auto& pipeline = seen.pipelines.front();
  pipeline.state = actors::pipeline_state::streaming;
  pipeline.is_catching_up = true;
  pipeline.bytes_left = 3 << 20;
  pipeline.events_row = 1234567;
  auto flow = at_rate(0, 512'000);
  flow.pipelines.front().seconds_left = 8.1;
  EXPECT_EQ(progress_line(seen, flow, 200),
            "shop  catch-up  512 k rows/s  3.0 MiB to read  8.1 s left  1,234,567 rows");
}

TEST(progress, fits_the_terminal) {
  EXPECT_EQ(progress_line(loading(), at_rate(100), 30), "shop  load [##########.......…");

  auto seen = loading();
  seen.pipelines.front().tables[1].name = "public.ööööööööööööö";
  EXPECT_EQ(progress_line(seen, at_rate(100), 50),
            "shop  load [##########..........] 50%  public.ööö…")
      << "a letter is never cut in two";
}

TEST(progress, sums_up_several_pipelines) {
  auto seen = loading();
  seen.pipelines.push_back(seen.pipelines.front());
  seen.pipelines.back().state = actors::pipeline_state::halted;
  auto flow = at_rate(100);
  flow.pipelines.push_back(flow.pipelines.front());
  EXPECT_EQ(progress_line(seen, flow, 200),
            "2 pipelines: 1 loading, 0 streaming, 1 other  200 rows/s  0 B behind");
}

} // namespace

} // namespace cdc::cli
