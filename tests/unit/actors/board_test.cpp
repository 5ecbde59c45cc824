#include "actors/board.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace cdc::actors {
namespace {

const pipeline_view& only_pipeline(const board_view& seen) {
  return seen.pipelines.at(0);
}

TEST(board, shows_actors_as_a_tree) {
  board all{"n1", "0.1"};
  const auto root = all.add(actor_kind::root, "root");
  const auto pipeline = all.add(actor_kind::pipeline, "pipeline", root, "shop");
  const auto source = all.add(actor_kind::source, "source", pipeline, "shop", 3);

  const auto seen = all.view();

  ASSERT_EQ(seen.actors.size(), 3U);
  EXPECT_EQ(seen.actors[0].parent, 0U);
  EXPECT_EQ(seen.actors[1].parent, seen.actors[0].id);
  EXPECT_EQ(seen.actors[2].parent, seen.actors[1].id);
  EXPECT_EQ(seen.actors[2].node, "n1");
  EXPECT_EQ(seen.actors[2].incarnation, 3U);
}

TEST(board, gives_the_next_life_of_an_actor_its_place_and_counts_the_restart) {
  board all{"n1", "0.1"};
  const auto root = all.add(actor_kind::root, "root");
  const auto first = all.add(actor_kind::source, "source", root, "shop", 1);
  const auto child = all.add(actor_kind::reader, "reader", first, "shop", 1);
  first->failed({errc::source_unavailable, "it went away"});

  const auto second = all.add(actor_kind::source, "source", root, "shop", 2);

  const auto seen = all.view();
  ASSERT_EQ(seen.actors.size(), 3U);
  EXPECT_EQ(seen.actors[1].incarnation, 2U);
  EXPECT_EQ(seen.actors[1].restarts, 1U);
  EXPECT_EQ(seen.actors[1].state, actor_state::starting);
  EXPECT_EQ(seen.actors[1].last_error.text, "source_unavailable: it went away");
  EXPECT_EQ(seen.actors[2].parent, seen.actors[1].id);
}

TEST(board, keeps_actors_of_one_name_in_two_pipelines_apart) {
  board all{"n1", "0.1"};
  const auto a = all.add(actor_kind::source, "source", {}, "a");
  const auto b = all.add(actor_kind::source, "source", {}, "b");

  EXPECT_EQ(all.view().actors.size(), 2U);
  EXPECT_EQ(all.view().actors[1].restarts, 0U);
}

TEST(board, takes_an_actor_off_with_all_below_it) {
  board all{"n1", "0.1"};
  const auto root = all.add(actor_kind::root, "root");
  const auto middle = all.add(actor_kind::coordinator, "load", root);
  const auto below = all.add(actor_kind::reader, "reader 1", middle);

  all.remove(middle);

  ASSERT_EQ(all.view().actors.size(), 1U);
  EXPECT_EQ(all.view().actors[0].name, "root");
}

TEST(actor_stats, say_what_is_being_handled_and_since_when) {
  board all{"n1", "0.1"};
  const auto engine = all.add(actor_kind::engine, "engine");
  engine->running();
  engine->mailbox(7);
  engine->mailbox(2);
  {
    const handler_scope handling{*engine};
    engine->doing("renders a batch");
    engine->about("public.orders");

    const auto during = all.view().actors[0];
    EXPECT_GT(during.in_handler, 0);
    EXPECT_EQ(during.doing, "renders a batch");
    EXPECT_EQ(during.about, "public.orders");
  }

  const auto after = all.view().actors[0];
  EXPECT_EQ(after.in_handler, 0);
  EXPECT_GT(after.busy, 0);
  EXPECT_EQ(after.messages, 1U);
  EXPECT_EQ(after.mailbox, 2U);
  EXPECT_EQ(after.mailbox_max, 7U);
}

TEST(actor_stats, count_the_time_without_credit) {
  board all{"n1", "0.1"};
  const auto source = all.add(actor_kind::source, "source");

  source->starved(true);
  source->starved(true);
  const auto during = all.view().actors[0];
  source->starved(false);
  const auto after = all.view().actors[0];

  EXPECT_TRUE(during.is_starved);
  EXPECT_GT(during.starved, 0);
  EXPECT_FALSE(after.is_starved);
  EXPECT_GE(after.starved, during.starved);
  EXPECT_EQ(all.view().actors[0].starved, after.starved) << "it stands still once credit is back";
}

TEST(pipeline_stats, are_in_step_until_a_commit_waits_for_its_acknowledgement) {
  board all{"n1", "0.1"};
  const auto shop = all.pipeline("shop");
  const std::int64_t second = 1'000'000;
  const auto lag_at = [&](std::int64_t now) { return shop->view(now).lag_seconds; };

  EXPECT_EQ(lag_at(100 * second), 0);

  shop->received({10}, 90 * second);
  EXPECT_DOUBLE_EQ(lag_at(100 * second), 10);
  shop->received({20}, 95 * second);
  EXPECT_DOUBLE_EQ(lag_at(100 * second), 10) << "the oldest that waits counts";

  shop->confirmed({10}, 90 * second);
  EXPECT_DOUBLE_EQ(lag_at(100 * second), 10);
  shop->confirmed({20}, 95 * second);
  EXPECT_EQ(lag_at(100 * second), 0);

  shop->received({30}, 5000 * second);
  EXPECT_DOUBLE_EQ(lag_at(5001 * second), 1) << "an idle hour is no lag";
}

TEST(pipeline_stats, are_in_step_while_the_log_advances_without_a_commit) {
  board all{"n1", "0.1"};
  const auto shop = all.pipeline("shop");
  shop->received({10}, 5);
  shop->confirmed({10}, 5);

  shop->received({400}, 0);

  EXPECT_EQ(shop->view(1'000'000'000).lag_seconds, 0);
  EXPECT_EQ(shop->view(1'000'000'000).lag_bytes, 390U);
}

TEST(pipeline_stats, tell_how_the_log_is_read_and_what_is_left) {
  pipeline_stats stats{"shop", "postgres"};
  stats.enter(pipeline_state::loading);
  EXPECT_EQ(reading_mode(stats.view(0)), "load");
  stats.enter(pipeline_state::streaming);
  EXPECT_EQ(reading_mode(stats.view(0)), "stream");
  stats.is_catching_up = true;
  stats.received({100}, 0);
  stats.current = 350;
  stats.reading_noted("far behind");
  const auto seen = stats.view(0);
  EXPECT_EQ(reading_mode(seen), "catch-up");
  EXPECT_EQ(seen.bytes_left, 250u);
  EXPECT_EQ(seen.reading_note.text, "far behind");
}

TEST(pipeline_stats, keep_one_entry_for_each_table_of_each_sink) {
  board all{"n1", "0.1"};
  const auto shop = all.pipeline("shop");

  const auto once = shop->table("public.a", "s1");
  const auto again = shop->table("public.a", "s1");
  const auto other = shop->table("public.a", "s2");

  EXPECT_EQ(once, again);
  EXPECT_NE(once, other);
  EXPECT_EQ(only_pipeline(all.view()).tables.size(), 2U);
}

TEST(pipeline_stats, count_drift_by_table) {
  board all{"n1", "0.1"};
  const auto shop = all.pipeline("shop");

  shop->drifted("public.a");
  shop->drifted("public.a");
  shop->drifted("public.b");

  const auto seen = only_pipeline(all.view()).drift;
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].changes, 2U);
  EXPECT_EQ(seen[1].table, "public.b");
}

TEST(sink_stats, show_what_is_durable_as_acknowledged_too) {
  board all{"n1", "0.1"};
  const auto lite = all.pipeline("shop")->sink("lite", "sqlite");
  lite->acknowledged({10}, 7);
  lite->durable = 30;

  const auto seen = only_pipeline(all.view()).sinks.at(0);
  EXPECT_EQ(seen.acknowledged, position{30});
  EXPECT_EQ(seen.acknowledged_commit, 7);
}

TEST(histogram, puts_a_sample_on_a_bound_into_the_bucket_it_closes) {
  histogram times;
  times.observe(0.001);
  times.observe(0.0011);
  times.observe(1e9);
  times.observe(-1);

  const auto seen = times.view();

  EXPECT_EQ(seen.counts[0], 1U) << "a clock set back counts as zero";
  EXPECT_EQ(seen.counts[1], 1U);
  EXPECT_EQ(seen.counts[2], 1U);
  EXPECT_EQ(seen.counts.back(), 1U);
  EXPECT_EQ(seen.count(), 4U);
}

TEST(histogram, names_the_bound_below_which_a_share_lies) {
  histogram times;
  EXPECT_EQ(times.view().quantile(0.5), 0);
  for (int i = 0; i < 99; ++i)
    times.observe(0.002);
  times.observe(200);

  EXPECT_DOUBLE_EQ(times.view().quantile(0.5), 0.0025);
  EXPECT_DOUBLE_EQ(times.view().quantile(0.99), 0.0025);
  EXPECT_DOUBLE_EQ(times.view().quantile(1), 120);
}

TEST(histogram, loses_no_sample_of_several_threads) {
  histogram times;
  {
    std::jthread a{[&] {
      for (int i = 0; i < 10'000; ++i)
        times.observe(0.25);
    }};
    std::jthread b{[&] {
      for (int i = 0; i < 10'000; ++i)
        times.observe(0.5);
    }};
  }

  EXPECT_EQ(times.view().count(), 20'000U);
  EXPECT_NEAR(times.view().sum, 7500, 1e-3);
}

} // namespace
} // namespace cdc::actors
