#include <gtest/gtest.h>

#include "tests/unit/engine/history.hpp"

namespace cdc::engine::test {
namespace {

using options = history::options;
using story = std::vector<std::string>;

options loaded() {
  return {.is_loaded = true};
}

void expect_balance(const accounting& of) {
  EXPECT_EQ(of.read, of.written + of.filtered + of.superseded + of.quarantined);
}

TEST(stream, says_each_change_as_the_target_is_to_make_it) {
  history of{loaded()};
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.update({"1", "a2", "b", "NULL"});
    t.update({"1", "a3", "-", "-"});
    t.remove("1");
    t.truncate();
  });
  of.writes();

  EXPECT_EQ(of.at.story, (story{"upsert 1 a b c", "upsert 1 a2 b NULL", "partial 1 a3 - -",
                                "remove 1 NULL NULL NULL", "truncate "}));
}

TEST(stream, a_changed_key_is_a_move) {
  history of{loaded()};
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.move("1", {"2", "a", "b", "c"});
    t.move("2", {"3", "a", "-", "c"});
  });
  of.writes();

  EXPECT_EQ(*of.at_target("3"), (row{"3", "a", "b", "c"}));
  EXPECT_EQ(of.at.tables["items"].rows.size(), 1U);
  EXPECT_EQ(of.at.story[1], "remove 1 NULL NULL NULL");
  EXPECT_EQ(of.at.story[3], "move 2 NULL NULL NULL > 3 a - c");
}

TEST(stream, an_old_key_that_did_not_change_is_no_move) {
  history of{loaded()};
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.move("1", {"1", "a2", "b", "c"});
  });
  of.writes();

  EXPECT_EQ(of.at.story, (story{"upsert 1 a b c", "upsert 1 NULL NULL NULL > 1 a2 b c"}));
}

TEST(stream, a_long_key_that_is_said_to_be_unchanged_is_taken_from_the_old_row) {
  history of{loaded()};
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.move("1", {"-", "a2", "-", "c"});
  });
  of.writes();

  EXPECT_EQ(of.at.story.back(), "partial 1 a2 - c");
}

TEST(stream, a_full_old_row_completes_the_new_one) {
  history of{loaded()};
  of.transaction(701, [](script& t) {
    t.update_full({"1", "a", "b", "c"}, {"1", "a2", "-", "-"});
    t.update_full({"1", "a2", "b", "c"}, {"2", "-", "-", "c3"});
  });
  of.writes();

  EXPECT_EQ(of.at.story,
            (story{"upsert 1 a b c > 1 a2 b c", "remove 1 a2 b c", "upsert 2 a2 b c3"}));
}

TEST(stream, columns_that_the_target_does_not_take_are_not_missed) {
  history of{loaded()};
  auto narrow = std::make_shared<target_table>(*of.table);
  narrow->columns.pop_back();
  auto other = std::make_shared<relation>(*of.shape);
  other->columns[3].type_oid = 17;
  narrow->source = other;
  of.log.on(other);
  of.transaction(701, [](script& t) { t.update({"1", "a", "b", "-"}); });
  ASSERT_TRUE(of.it->provide(other, narrow));

  const auto work = of.it->next_batch(true);

  ASSERT_TRUE(work && *work);
  EXPECT_EQ((*work)->changes[0].what, action::upsert);
}

TEST(stream, an_update_under_an_identity_that_is_not_the_key_halts) {
  history of{loaded()};
  auto other = std::make_shared<relation>(*of.shape);
  other->identity = replica_identity::index;
  other->columns[0].is_identity_key = false;
  other->columns[1].is_identity_key = true;
  auto target = std::make_shared<target_table>(*target_of(other));
  ASSERT_TRUE(of.it->provide(other, target));
  of.log.on(other);
  of.log.begin(701, 1010).move("NULL", {"1", "a", "b", "c"}).commit();

  const auto done = of.it->stream(of.log.take());

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::identity_missing);
  EXPECT_NE(done.error().detail.find("ALTER TABLE"), std::string::npos);
}

TEST(stream, a_delete_that_names_no_row_halts) {
  history of{loaded()};
  of.log.begin(701, 1010);
  of.log.on(of.shape);
  auto other = std::make_shared<relation>(*of.shape);
  other->columns[0].is_identity_key = false;
  ASSERT_TRUE(of.it->provide(other, target_of(other)));
  of.log.on(other).remove("1").commit();

  const auto done = of.it->stream(of.log.take());

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::identity_missing);
}

TEST(stream, transactions_that_the_checkpoint_covers_are_skipped_whole) {
  history of{loaded()};
  of.log.begin(690, 900).insert({"1", "a", "b", "c"}).commit();
  of.log.begin(701, 1010).insert({"2", "a", "b", "c"}).commit();
  of.streams(of.log.take());
  of.writes();

  EXPECT_EQ(of.at_target("1"), nullptr);
  EXPECT_NE(of.at_target("2"), nullptr);
  EXPECT_EQ(of.it->streamed().superseded, 1U);
  expect_balance(of.it->streamed());
}

TEST(stream, a_replay_after_a_crash_writes_nothing_twice) {
  history of{loaded()};
  const auto first = of.logs(701, [](script& t) { t.insert({"1", "a", "b", "c"}); });
  of.streams(first);
  of.writes();
  of.crashes();
  of.at.story.clear();

  of.streams(first);
  of.writes();

  EXPECT_TRUE(of.at.story.empty());
}

TEST(stream, rows_of_tables_that_no_section_takes_are_filtered) {
  history of{loaded()};
  const auto other = shape_of("elsewhere", 2);
  of.log.on(other);
  of.transaction(701, [](script& t) { t.insert({"1", "a", "b", "c"}); });
  ASSERT_EQ(of.it->unknown_shape(), other);
  ASSERT_TRUE(of.it->provide(other, nullptr));
  of.writes();

  EXPECT_EQ(of.it->streamed().filtered, 1U);
  EXPECT_EQ(of.it->acknowledged().resume, position{1011});
  expect_balance(of.it->streamed());
}

TEST(stream, waits_for_a_shape_and_then_goes_on_where_it_stood) {
  history of{loaded()};
  auto wider = std::make_shared<relation>(*of.shape);
  wider->generation = 2;
  wider->columns.push_back(
      {.name = "d", .attribute = 5, .type_oid = 25, .what = kind::text, .type_name = "text"});
  of.transaction(701, [](script& t) { t.insert({"1", "a", "b", "c"}); });
  of.log.on(wider);
  of.transaction(702, [](script& t) { t.insert({"2", "a", "b", "c", "d"}); });
  of.log.on(of.shape);
  of.transaction(703, [](script& t) { t.insert({"3", "a", "b", "c"}); });
  of.writes();
  EXPECT_EQ(of.at.tables["items"].rows.size(), 1U);
  EXPECT_EQ(of.it->passed(), position{1011});

  ASSERT_TRUE(of.it->provide(wider, target_of(wider)));
  of.writes();

  EXPECT_EQ(of.it->unknown_shape(), nullptr);
  EXPECT_EQ(of.at.story, (story{"upsert 1 a b c", "upsert 2 a b c d", "upsert 3 a b c"}));
}

TEST(stream, a_shape_described_twice_needs_no_new_target) {
  history of{loaded()};
  const auto again = std::make_shared<relation>(*of.shape);
  of.log.on(again);
  of.transaction(701, [](script& t) { t.insert({"1", "a", "b", "c"}); });

  EXPECT_EQ(of.it->unknown_shape(), nullptr);
}

TEST(stream, a_table_that_was_not_there_at_the_start_needs_a_new_start) {
  history of{loaded()};
  const auto added = shape_of("added", 7);

  const auto done = of.it->provide(added, target_of(added));

  ASSERT_FALSE(done);
  EXPECT_EQ(reaction_to(done.error().code), reaction::restart);
}

TEST(stream, a_refused_row_is_counted_as_such) {
  history of{loaded()};
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.insert({"2", "a", "b", "c"});
  });
  const auto work = *of.it->next_batch(true);
  write_report report{.batch = work->number};
  report.refused.push_back({work->changes[1].number, "too long"});

  ASSERT_TRUE(of.it->completed(report));

  EXPECT_EQ(of.it->streamed().written, 1U);
  EXPECT_EQ(of.it->streamed().quarantined, 1U);
  expect_balance(of.it->streamed());
}

TEST(stream, every_row_is_accounted_for) {
  history of{options{.bounds = {"100"}}};
  of.hides(701);
  of.opens({0});
  of.hands_over(0);
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.update({"2", "a", "-", "-"});
    t.move("3", {"4", "a", "b", "c"});
  });
  of.copies(
      0, {{"1", "x", "y", "z"}, {"2", "x", "y", "z"}, {"3", "x", "y", "z"}, {"5", "x", "y", "z"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(of.it->streamed().read, 3U);
  EXPECT_EQ(of.it->streamed().written, 3U);
  EXPECT_EQ(of.it->copied().read, 4U);
  EXPECT_EQ(of.it->copied().written, 2U);
  EXPECT_EQ(of.it->copied().merged, 1U);
  EXPECT_EQ(of.it->copied().superseded, 2U);
  expect_balance(of.it->streamed());
  expect_balance(of.it->copied());
}

TEST(stream, rows_of_a_range_that_nobody_reads_any_more_are_counted_and_paid_back) {
  history of{options{.bounds = {"100"}}};
  of.opens({0});
  (void)of.logs(701, [](script& t) { t.insert({"9", "", "", ""}); });
  of.hands_over(0);
  of.copies(0, {{"1", "x", "y", "z"}});
  EXPECT_EQ(of.it->take_load_credit(), credit{});
  of.it->lose_range({0, 0});
  of.copies(0, {{"2", "x", "y", "z"}});

  EXPECT_EQ(of.it->take_load_credit().blocks, 2U);
  EXPECT_EQ(of.it->copied().superseded, 2U);
  expect_balance(of.it->copied());
}

TEST(stream, leaves_no_entry_behind_after_the_load) {
  history of{loaded()};
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.remove("2");
    t.truncate();
  });
  EXPECT_EQ(of.it->entries(), 0U);
  of.transaction(702, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.update({"1", "a", "-", "c"});
  });
  EXPECT_EQ(of.it->entries(), 1U);
  of.writes();

  EXPECT_EQ(of.it->entries(), 0U);
  EXPECT_EQ(of.it->listed(), 0U);
}

TEST(stream, the_same_key_many_times_in_one_transaction_ends_right) {
  history of{options{.bounds = {"100"}}};
  of.transaction(701, [](script& t) {
    t.insert({"1", "a", "b", "c"});
    t.update({"1", "a2", "-", "-"});
    t.remove("1");
    t.insert({"1", "a3", "b3", "c3"});
    t.update({"1", "-", "b4", "-"});
  });
  of.writes();

  EXPECT_EQ(*of.at_target("1"), (row{"1", "a3", "b4", "c3"}));
}

} // namespace
} // namespace cdc::engine::test
