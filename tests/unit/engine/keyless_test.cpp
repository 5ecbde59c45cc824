// Tables without a key: load-rule §1b. A row is a value, and there may be many of it.
#include <gtest/gtest.h>

#include "tests/unit/engine/history.hpp"

namespace cdc::engine::test {
namespace {

using options = history::options;

options keyless() {
  return {.is_keyless = true};
}

std::size_t copies_of(history& of, const row& what) {
  return of.at.tables["items"].bag.count(what);
}

const row one{"1", "a", "b", "c"};
const row two{"2", "a", "b", "c"};

TEST(keyless, changes_are_left_out_until_the_table_is_loaded) {
  history of{keyless()};
  of.transaction(701, [](script& t) { t.insert(one); });
  of.writes();

  EXPECT_EQ(copies_of(of, one), 0U);
  EXPECT_EQ(of.it->streamed().filtered, 1U);
}

TEST(keyless, the_stream_stands_while_the_table_is_read) {
  history of{keyless()};
  of.opens({0});
  EXPECT_TRUE(of.heard(news::what::stream_paused));
  of.transaction(701, [](script& t) { t.insert(one); });
  EXPECT_LT(of.it->passed(), position{1010});

  of.hands_over(0);
  of.copies(0, {two, two});
  of.writes();
  EXPECT_EQ(copies_of(of, two), 2U);
  EXPECT_LT(of.it->passed(), position{1010});
  of.ends(0);

  EXPECT_EQ(of.it->passed(), position{1011});
  of.writes();
  EXPECT_TRUE(of.it->load_finished());
}

TEST(keyless, the_stream_stands_between_transactions_only) {
  history of{keyless()};
  of.log.begin(701, 1010).insert(one);
  of.streams(of.log.take());

  of.opens({0});
  EXPECT_FALSE(of.heard(news::what::stream_paused));

  of.streams(of.log.commit().begin(702, 1020).insert(two).commit().take());
  EXPECT_TRUE(of.heard(news::what::stream_paused));
  EXPECT_EQ(of.it->passed(), position{1011});
}

TEST(keyless, what_the_snapshot_saw_is_skipped_and_all_else_applied_once) {
  history of{keyless()};
  of.opens({0});
  of.hides(702);
  const auto rest = of.logs(701, [](script& t) { t.insert(one); });
  const auto hidden = of.logs(702, [](script& t) { t.insert(one); });
  of.hands_over(0);
  of.copies(0, {one});
  of.ends(0);
  of.streams(rest);
  of.streams(hidden);
  of.writes();

  EXPECT_EQ(copies_of(of, one), 2U);
  EXPECT_EQ(of.it->streamed().filtered, 1U);
}

TEST(keyless, a_snapshot_must_have_seen_what_was_left_out) {
  history of{keyless()};
  of.hides(701);
  of.transaction(701, [](script& t) { t.insert(one); });
  of.opens({0});

  EXPECT_EQ(of.hands_over(0), verdict::not_yet);
  of.shows(701);
  EXPECT_EQ(of.hands_over(0), verdict::accepted);
}

TEST(keyless, what_it_must_have_seen_is_fixed_when_the_stream_stands) {
  history of{keyless()};
  of.hides(701);
  of.transaction(701, [](script& t) { t.insert(one); });
  of.opens({0});
  const auto early = of.now();
  of.shows(701);
  of.it->prove(of.now());

  EXPECT_EQ(of.hands_over(0, early), verdict::not_yet);
}

TEST(keyless, every_try_empties_the_target_first) {
  history of{keyless()};
  of.opens({0});
  of.hands_over(0);
  of.copies(0, {one, two});
  of.writes();
  of.it->lose_range({0, 0});

  EXPECT_EQ(of.hands_over(0), verdict::accepted);
  of.copies(0, {two});
  of.ends(0);
  of.writes();

  EXPECT_EQ(copies_of(of, one), 0U);
  EXPECT_EQ(copies_of(of, two), 1U);
}

TEST(keyless, a_crash_while_loading_begins_it_again) {
  history of{keyless()};
  of.opens({0});
  of.hands_over(0);
  of.copies(0, {one});
  of.writes();

  of.crashes();

  EXPECT_FALSE(of.it->load_finished());
  of.opens({0});
  of.hands_over(0);
  of.copies(0, {one});
  of.ends(0);
  of.writes();
  EXPECT_EQ(copies_of(of, one), 1U);
}

TEST(keyless, the_snapshot_is_kept_over_a_crash_until_the_checkpoint_has_reached_it) {
  history of{keyless()};
  of.opens({0});
  const auto seen = of.logs(701, [](script& t) { t.insert(one); });
  of.hands_over(0);
  of.copies(0, {one});
  of.ends(0);
  of.writes();
  EXPECT_TRUE(of.it->progress(0).keyless);

  of.crashes();
  of.streams(seen);
  of.writes();
  EXPECT_EQ(copies_of(of, one), 1U);
  EXPECT_EQ(of.it->progress(0).keyless, std::nullopt);

  of.transaction(702, [](script& t) { t.remove_full(one); });
  of.writes();
  EXPECT_EQ(copies_of(of, one), 0U);
  EXPECT_EQ(of.at.not_found, 0U);
  const auto stored = stored_progress(of.at.state(), "items");
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((*stored)->keyless, std::nullopt);
}

TEST(keyless, a_wave_that_takes_its_place_lets_the_stream_go_on) {
  history of{keyless()};
  of.opens({0});
  of.hands_over(0);
  of.copies(0, {one});
  of.transaction(701, [](script& t) { t.insert(two); });
  EXPECT_LT(of.it->passed(), position{1010});

  of.opens({0});
  of.hands_over(0);
  of.copies(0, {two});
  of.ends(0);
  of.writes();

  EXPECT_EQ(copies_of(of, one), 0U);
  EXPECT_EQ(copies_of(of, two), 1U);
  EXPECT_TRUE(of.it->load_finished());
}

TEST(keyless, an_update_replaces_one_of_the_equal_rows) {
  history of{keyless()};
  of.opens({0});
  of.hands_over(0);
  of.copies(0, {one, one, one});
  of.ends(0);
  of.transaction(701, [](script& t) { t.update_full(one, {"1", "a2", "-", "-"}); });
  of.writes();

  EXPECT_EQ(copies_of(of, one), 2U);
  EXPECT_EQ(copies_of(of, {"1", "a2", "b", "c"}), 1U);
}

TEST(keyless, a_truncate_empties_the_table) {
  history of{keyless()};
  of.opens({0});
  of.hands_over(0);
  of.copies(0, {one});
  of.ends(0);
  of.transaction(701, [](script& t) { t.truncate().insert(two); });
  of.writes();

  EXPECT_EQ(copies_of(of, one), 0U);
  EXPECT_EQ(copies_of(of, two), 1U);
}

TEST(keyless, an_append_only_table_halts_at_an_update_and_names_it) {
  history of{options{.is_keyless = true, .is_append_only = true}};
  of.opens({0});
  of.hands_over(0);
  of.ends(0);
  of.log.begin(701, 1010).insert(one).update_full(one, two).commit();

  const auto done = of.it->stream(of.log.take());

  ASSERT_FALSE(done);
  EXPECT_NE(done.error().detail.find("public.items"), std::string::npos);
  EXPECT_EQ(reaction_to(done.error().code), reaction::halt);
}

TEST(keyless, an_update_without_the_whole_old_row_halts) {
  history of{keyless()};
  of.opens({0});
  of.hands_over(0);
  of.ends(0);
  of.log.begin(701, 1010).update(one).commit();

  const auto done = of.it->stream(of.log.take());

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::identity_missing);
}

} // namespace
} // namespace cdc::engine::test
