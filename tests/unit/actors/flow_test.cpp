#include "actors/flow.hpp"

#include <gtest/gtest.h>

namespace cdc::actors {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t in_nanoseconds = 1'000'000'000;

/// One pipeline of four actors, at second 10.
board_view quiet_board() {
  board_view seen;
  seen.now = 10 * second;
  auto& shop = seen.pipelines.emplace_back();
  shop.name = "shop";
  shop.sinks.emplace_back().name = "lite";
  std::uint64_t id = 0;
  for (const auto kind :
       {actor_kind::source, actor_kind::reader, actor_kind::engine, actor_kind::sink}) {
    auto& actor = seen.actors.emplace_back();
    actor.id = ++id;
    actor.kind = kind;
    actor.name = to_string(kind);
    actor.pipeline = "shop";
    actor.state = actor_state::running;
  }
  return seen;
}

enum place : std::size_t { source, reader, engine, sink };

/// The same two seconds later.
board_view later(const board_view& before) {
  auto seen = before;
  seen.now += 2 * second;
  return seen;
}

TEST(flow, is_what_grew_between_two_looks_by_the_second) {
  const auto before = quiet_board();
  auto now = later(before);
  now.pipelines[0].events_row = 500;
  now.pipelines[0].stream_bytes = 4096;
  now.actors[engine].busy = in_nanoseconds;
  now.actors[engine].messages = 20;

  const auto flow = derive_flow(&before, now);

  EXPECT_DOUBLE_EQ(flow.seconds, 2);
  EXPECT_DOUBLE_EQ(flow.pipelines[0].streamed_rows_per_second, 250);
  EXPECT_DOUBLE_EQ(flow.pipelines[0].stream_bytes_per_second, 2048);
  EXPECT_DOUBLE_EQ(flow.actors[engine].busy, 0.5);
  EXPECT_DOUBLE_EQ(flow.actors[engine].messages_per_second, 10);
}

TEST(flow, of_an_actor_that_began_anew_is_not_told) {
  auto before = quiet_board();
  before.actors[engine].busy = 100 * in_nanoseconds;
  auto now = later(before);
  now.actors[engine].busy = in_nanoseconds;
  now.actors[engine].incarnation = 1;

  EXPECT_EQ(derive_flow(&before, now).actors[engine].busy, 0);
}

TEST(flow, finds_actors_whose_place_in_the_list_moved) {
  const auto before = quiet_board();
  auto now = later(before);
  now.actors.erase(now.actors.begin());
  now.actors[1].busy = in_nanoseconds;

  EXPECT_DOUBLE_EQ(derive_flow(&before, now).actors[1].busy, 0.5);
}

TEST(flow, of_a_table_tells_part_rate_and_time_left) {
  auto before = quiet_board();
  before.pipelines[0].tables.push_back({.name = "t",
                                        .state = table_state::loading,
                                        .rows = 100,
                                        .rows_estimate = 1000,
                                        .started = 9 * second});
  auto now = later(before);
  now.pipelines[0].tables[0].rows = 300;

  const auto table = derive_flow(&before, now).pipelines[0].tables[0];

  EXPECT_DOUBLE_EQ(table.rows_per_second, 100);
  EXPECT_DOUBLE_EQ(table.part_done, 0.3);
  EXPECT_DOUBLE_EQ(table.seconds_left.value(), 7) << "700 rows at the average of 100 a second";
  EXPECT_DOUBLE_EQ(derive_flow(&before, now).pipelines[0].copied_rows_per_second, 100);
}

TEST(flow, of_a_table_without_an_estimate_goes_by_its_ranges) {
  auto now = quiet_board();
  now.pipelines[0].tables.push_back(
      {.name = "t", .state = table_state::loading, .rows = 5, .ranges_done = 1, .ranges = 4});

  const auto table = derive_flow(nullptr, now).pipelines[0].tables[0];

  EXPECT_DOUBLE_EQ(table.part_done, 0.25);
  EXPECT_FALSE(table.seconds_left);
}

TEST(flow, never_says_that_all_is_done_before_it_is) {
  auto now = quiet_board();
  now.pipelines[0].tables.push_back(
      {.name = "t", .state = table_state::loading, .rows = 2000, .rows_estimate = 1000});
  EXPECT_LT(derive_flow(nullptr, now).pipelines[0].tables[0].part_done, 1);

  now.pipelines[0].tables[0].state = table_state::loaded;
  EXPECT_EQ(derive_flow(nullptr, now).pipelines[0].tables[0].part_done, 1);
}

TEST(bottleneck, is_the_sink_while_the_engine_starves) {
  const auto before = quiet_board();
  auto now = later(before);
  now.actors[engine].starved = in_nanoseconds;
  now.actors[source].starved = 2 * in_nanoseconds;

  EXPECT_EQ(derive_flow(&before, now).pipelines[0].slowest.stage, "sink");
}

TEST(bottleneck, is_the_engine_while_only_the_source_starves) {
  const auto before = quiet_board();
  auto now = later(before);
  now.actors[source].starved = in_nanoseconds;

  EXPECT_EQ(derive_flow(&before, now).pipelines[0].slowest.stage, "engine");
}

TEST(bottleneck, is_the_target_that_is_always_written_to_while_the_source_starves) {
  const auto before = quiet_board();
  auto now = later(before);
  now.actors[source].starved = in_nanoseconds;
  now.pipelines[0].sinks[0].batches_flushed = 8;
  now.pipelines[0].sinks[0].batch_write.sum = 1.9;

  const auto flow = derive_flow(&before, now).pipelines[0];
  EXPECT_DOUBLE_EQ(flow.sinks[0].writing, 0.95);
  EXPECT_DOUBLE_EQ(flow.sinks[0].batches_per_second, 4);
  EXPECT_EQ(flow.slowest.stage, "lite");
}

TEST(bottleneck, is_not_told_from_an_actor_that_has_ended) {
  const auto before = quiet_board();
  auto now = later(before);
  now.actors[reader].starved = in_nanoseconds;
  now.actors[reader].state = actor_state::stopped;

  EXPECT_EQ(derive_flow(&before, now).pipelines[0].slowest.stage, "");
}

TEST(bottleneck, is_the_source_while_rows_move_and_nobody_starves) {
  const auto before = quiet_board();
  auto now = later(before);
  now.pipelines[0].events_row = 10;

  EXPECT_EQ(derive_flow(&before, now).pipelines[0].slowest.stage, "source");
}

TEST(bottleneck, is_nothing_while_nothing_moves) {
  const auto before = quiet_board();

  EXPECT_EQ(derive_flow(&before, later(before)).pipelines[0].slowest.stage, "");
}

TEST(bottleneck, is_the_sink_furthest_behind_of_several) {
  const auto before = quiet_board();
  auto now = later(before);
  now.pipelines[0].sinks[0].acknowledged = {9};
  now.pipelines[0].sinks.emplace_back().name = "file";
  now.pipelines[0].sinks[1].acknowledged = {5};
  now.actors[engine].starved = in_nanoseconds;

  const auto flow = derive_flow(&before, now).pipelines[0];
  EXPECT_EQ(flow.held_back_by, "file");
  EXPECT_EQ(flow.slowest.stage, "file");
}

} // namespace
} // namespace cdc::actors
