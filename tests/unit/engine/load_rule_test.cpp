// The histories that broke earlier rules of the initial load. T1, T2 … are transactions 701, 702 …;
// a row is (id a b c), `-` an absent column.
#include <gtest/gtest.h>

#include "tests/unit/engine/history.hpp"

namespace cdc::engine::test {
namespace {

using options = history::options;

TEST(load_rule, an_entry_stays_until_a_snapshot_has_seen_its_transaction) {
  history of{options{.bounds = {"100"}}};
  of.hides(701);
  of.transaction(701, [](script& t) { t.update({"1", "a4", "b5", "c6"}); });
  of.writes();
  of.opens({0});

  of.hands_over(0);
  of.copies(0, {{"1", "a1", "b2", "c3"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(*of.at_target("1"), (row{"1", "a4", "b5", "c6"}));
}

TEST(load_rule, an_entry_leaves_once_its_transaction_is_proved) {
  history of{options{.bounds = {"100"}}};
  of.hides(701);
  of.transaction(701, [](script& t) { t.insert({"1", "a", "b", "c"}); });
  of.writes();
  EXPECT_EQ(of.it->entries(), 1U);
  EXPECT_TRUE(of.it->wants_proof());

  of.shows(701);
  of.it->prove(of.now());

  EXPECT_EQ(of.it->entries(), 0U);
  EXPECT_FALSE(of.it->wants_proof());
}

TEST(load_rule, a_restart_admits_no_snapshot_that_misses_what_was_passed) {
  history of{options{.bounds = {"100"}}};
  of.hides(701);
  of.transaction(701, [](script& t) { t.update({"1", "a4", "-", "-"}); });
  of.writes();
  of.crashes();
  of.opens({0});

  EXPECT_EQ(of.hands_over(0), verdict::not_yet);

  of.shows(701);
  EXPECT_EQ(of.hands_over(0), verdict::accepted);
}

TEST(load_rule, the_gate_outlives_a_second_restart) {
  history of{options{.bounds = {"100"}}};
  of.hides(701);
  of.transaction(701, [](script& t) { t.update({"1", "a4", "-", "-"}); });
  of.writes();
  of.crashes();
  of.transaction(702, [](script& t) { t.insert({"2", "a", "b", "c"}); });
  of.writes();
  of.crashes();
  of.opens({0});

  EXPECT_EQ(of.hands_over(0), verdict::not_yet);
}

TEST(load_rule, the_gate_lets_go_of_what_was_proved_before_the_crash) {
  history of{options{.bounds = {"100"}}};
  of.hides(701);
  of.transaction(701, [](script& t) { t.insert({"1", "a", "b", "c"}); });
  of.writes();
  of.shows(701);
  of.it->prove(of.now());
  of.transaction(702, [](script& t) { t.insert({"2", "a", "b", "c"}); });
  of.writes();

  for (const auto& [name, value] : of.at.records)
    EXPECT_EQ(value.find("701"), std::string::npos) << name;
}

TEST(load_rule, the_first_start_admits_no_snapshot_that_misses_what_the_slot_counts_as_past) {
  history::options with{.bounds = {"100"}};
  history of{with};
  of.at = {};
  of.hides(590);
  of.crashes(); // with nothing at the target: a first start that knows of 590
  of.writes();
  of.opens({0});

  EXPECT_EQ(of.hands_over(0), verdict::not_yet);
  EXPECT_EQ(of.at.records.count("gate"), 1U);

  of.crashes();
  of.opens({0});
  EXPECT_EQ(of.hands_over(0), verdict::not_yet);
  of.shows(590);
  EXPECT_EQ(of.hands_over(0), verdict::accepted);
}

TEST(load_rule, a_table_that_the_gate_was_not_kept_for_needs_a_view_of_its_own) {
  history of{options{.bounds = {"100"}}};
  of.writes();
  const auto added = target_of(shape_of("added", 2));
  std::vector<table_setup> tables{{of.table, std::nullopt}};
  EXPECT_FALSE(needs_start_view(of.at.state(), tables));
  tables.push_back({added, std::nullopt});
  EXPECT_TRUE(needs_start_view(of.at.state(), tables));

  start_point start;
  start.from = *of.at.resume;
  start.unproved = {599};
  engine again{{}, tables, of.at.state(), start};
  again.planned(1, by_key({}));
  again.open_wave(std::vector<range_ref>{{1, 0}});
  auto seen = of.now();
  seen.xmin = 599;
  seen.in_progress = {599};

  EXPECT_EQ(again.hand_over({1, 0}, seen, {of.end()}), verdict::not_yet);
  const auto first = again.next_batch(false);
  ASSERT_TRUE(first && *first);
  of.at.write(**first);
  EXPECT_FALSE(needs_start_view(of.at.state(), tables)) << "from here on it is kept for both";
}

TEST(load_rule, a_map_begun_anew_admits_no_snapshot_that_misses_what_it_forgot) {
  history of{options{.engine = {.map_bytes_max = 200}, .bounds = {"100"}}};
  of.hides(701);
  of.opens({0});
  of.transaction(701, [](script& t) {
    for (int i = 0; i < 10; ++i)
      t.update({std::to_string(i), "a4", "-", "-"});
  });

  of.sends();
  of.answers();

  EXPECT_TRUE(of.heard(news::what::ranges_void));
  EXPECT_EQ(of.it->entries(), 0U);
  EXPECT_EQ(of.hands_over(0), verdict::not_yet);
  of.opens({0});
  EXPECT_EQ(of.hands_over(0), verdict::not_yet);
  of.shows(701);
  EXPECT_EQ(of.hands_over(0), verdict::accepted);
}

TEST(load_rule, a_map_begun_anew_counts_the_open_transaction) {
  history of{options{.engine = {.map_bytes_max = 200}, .bounds = {"100"}}};
  of.hides(701);
  of.log.begin(701, 1010);
  for (int i = 0; i < 10; ++i)
    of.log.update({std::to_string(i), "a4", "-", "-"});
  of.streams(of.log.take());
  of.sends();
  of.answers();

  ASSERT_TRUE(of.heard(news::what::ranges_void));
  of.opens({0});
  EXPECT_EQ(of.hands_over(0), verdict::not_yet);
}

TEST(load_rule, a_copied_row_is_overlaid_by_all_that_was_supplied) {
  history of{options{.bounds = {"100"}}};
  of.hides(701);
  of.hides(702);
  of.opens({0});
  of.hands_over(0);
  of.transaction(701, [](script& t) { t.update({"1", "a1", "b4", "-"}); });
  of.transaction(702, [](script& t) { t.update({"1", "a5", "-", "-"}); });
  of.copies(0, {{"1", "a1", "b2", "c3"}});
  of.writes();

  EXPECT_EQ(*of.at_target("1"), (row{"1", "a5", "b4", "c3"}));
  EXPECT_EQ(of.it->copied().merged, 1U);
}

TEST(load_rule, a_row_from_before_a_move_gives_nothing_to_the_moved_one) {
  history of{options{.bounds = {}}};
  of.hides(701);
  of.opens({0});
  of.hands_over(0);
  of.transaction(701, [](script& t) {
    t.remove("2");
    t.move("1", {"2", "a7", "-", "-"});
  });
  of.copies(0, {{"1", "a1", "b2", "c3"}, {"2", "a4", "b5", "c6"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(of.at_target("1"), nullptr);
  EXPECT_EQ(of.at_target("2"), nullptr);
  EXPECT_TRUE(of.is_listed("2"));
  of.shows(701);
  EXPECT_EQ(of.refetches("2", row{"2", "a7", "b2", "c3"}), verdict::accepted);
  of.writes();
  EXPECT_EQ(*of.at_target("2"), (row{"2", "a7", "b2", "c3"}));
  EXPECT_FALSE(of.is_listed("2"));
  EXPECT_EQ(of.it->listed(), 0U);
}

TEST(load_rule, copied_rows_wait_until_the_stream_has_passed_the_end_of_the_log) {
  history of{options{.bounds = {}}};
  of.opens({0});
  const auto moves = of.logs(701, [](script& t) {
    t.move("1", {"2", "a1", "b4", "-"});
    t.insert({"1", "a5", "b6", "c7"});
  });
  of.hands_over(0);
  of.copies(0, {{"1", "a5", "b6", "c7"}, {"2", "a1", "b4", "c3"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(of.at_target("1"), nullptr);
  EXPECT_EQ(of.it->waits_for(), std::optional{position{of.end()}});

  of.streams(moves);
  of.writes();
  EXPECT_EQ(*of.at_target("1"), (row{"1", "a5", "b6", "c7"}));
  EXPECT_EQ(*of.at_target("2"), (row{"2", "a1", "b4", "c3"}));
  EXPECT_EQ(of.it->waits_for(), std::nullopt);
}

TEST(load_rule, an_advance_on_an_idle_log_ends_the_wait) {
  history of{options{.bounds = {}}};
  of.opens({0});
  (void)of.logs(701, [](script& t) { t.insert({"9", "", "", ""}); });
  of.hands_over(0);
  of.copies(0, {{"1", "a", "b", "c"}});
  of.writes();
  EXPECT_EQ(of.at_target("1"), nullptr);

  of.streams(of.log.advance(of.end()).take());
  of.writes();

  EXPECT_NE(of.at_target("1"), nullptr);
}

TEST(load_rule, a_truncate_leaves_nothing_for_copied_rows_that_came_before_it) {
  history of{options{.bounds = {}}};
  of.hides(701);
  of.opens({0});
  of.hands_over(0);
  of.transaction(701, [](script& t) {
    t.truncate();
    t.insert({"2", "a", "b", "c"});
  });
  of.copies(0, {{"1", "a1", "b2", "c3"}, {"2", "x", "y", "z"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(of.at_target("1"), nullptr);
  EXPECT_EQ(*of.at_target("2"), (row{"2", "a", "b", "c"}));
  of.shows(701);
  of.it->prove(of.now());
  EXPECT_EQ(of.it->entries(), 0U);
}

TEST(load_rule, the_list_is_durable_before_the_progress_that_relies_on_it) {
  history of{options{.bounds = {"2"}}};
  of.loads(1, {});
  of.hides(701);
  of.transaction(701, [](script& t) { t.move("1", {"2", "a4", "-", "-"}); });
  of.writes();

  EXPECT_TRUE(of.is_listed("2"));
  of.crashes();
  EXPECT_TRUE(of.heard(news::what::refetch));
  EXPECT_EQ(of.it->listed(), 1U);
  EXPECT_EQ(of.refetches("2", std::nullopt), verdict::not_yet);
  of.shows(701);
  EXPECT_EQ(of.refetches("2", row{"2", "a4", "b", "c"}), verdict::accepted);
  of.writes();
  EXPECT_EQ(*of.at_target("2"), (row{"2", "a4", "b", "c"}));
}

TEST(load_rule, progress_takes_the_keys_whose_rows_were_missing_in_its_own_wave) {
  history of{options{.bounds = {}}};
  of.hides(701);
  of.opens({0});
  of.hands_over(0);
  of.transaction(701, [](script& t) { t.move("1", {"2", "a4", "-", "-"}); });
  of.copies(0, {{"1", "a1", "b2", "c3"}});
  of.sends();
  EXPECT_FALSE(of.is_listed("2"));

  of.ends(0);
  of.writes();

  EXPECT_TRUE(of.is_listed("2"));
  EXPECT_TRUE(of.it->progress(0).finished());
  EXPECT_TRUE(of.heard(news::what::load_finished));
}

TEST(load_rule, an_answer_that_comes_after_the_ranges_end_still_lists_the_key) {
  history of{options{.bounds = {"2"}}};
  of.opens({0, 1});
  of.hands_over(1);
  of.ends(1);
  of.hands_over(0);
  of.transaction(701, [](script& t) { t.move("1", {"2", "a1", "-", "-"}); });
  of.sends();
  of.ends(0);

  EXPECT_FALSE(of.it->progress(0).done[0]);
  of.answers();
  of.writes();

  EXPECT_TRUE(of.is_listed("2"));
  EXPECT_TRUE(of.it->progress(0).finished());
}

TEST(load_rule, an_entry_stays_until_its_change_is_acknowledged) {
  history of{options{.is_loaded = true}};
  of.transaction(701, [](script& t) { t.update({"1", "a1", "-", "-"}); });
  of.sends();
  of.it->prove(of.now());
  EXPECT_EQ(of.it->entries(), 1U);

  of.answers();

  EXPECT_TRUE(of.is_listed("1"));
  EXPECT_TRUE(of.heard(news::what::refetch));
}

TEST(load_rule, a_refetch_that_has_not_seen_the_move_is_read_again) {
  history of{options{.is_loaded = true}};
  of.hides(701);
  of.transaction(701, [](script& t) { t.move("1", {"2", "a1", "-", "-"}); });
  of.writes();
  ASSERT_TRUE(of.is_listed("2"));

  EXPECT_EQ(of.refetches("2", std::nullopt), verdict::not_yet);
  of.writes();

  EXPECT_TRUE(of.is_listed("2"));
  of.shows(701);
  EXPECT_EQ(of.refetches("2", row{"2", "a1", "b", "c"}), verdict::accepted);
  of.writes();
  EXPECT_EQ(*of.at_target("2"), (row{"2", "a1", "b", "c"}));
}

TEST(load_rule, a_refetch_in_flight_keeps_the_entry_of_a_deleted_row) {
  history of{options{.is_loaded = true}};
  of.transaction(701, [](script& t) { t.update({"1", "a1", "-", "-"}); });
  of.writes();
  const auto before = of.now();
  ASSERT_TRUE(of.is_listed("1"));
  of.hides(702);
  of.transaction(702, [](script& t) { t.remove("1"); });
  of.writes();
  EXPECT_FALSE(of.is_listed("1"));

  of.refetches("1", row{"1", "a1", "b", "c"}, before);
  of.writes();

  EXPECT_EQ(of.at_target("1"), nullptr);
}

TEST(load_rule, a_range_is_open_from_before_its_snapshot) {
  history of{options{.bounds = {"100"}}};
  of.opens({0});
  const auto early = of.now();
  of.transaction(701, [](script& t) { t.update({"1", "a4", "b5", "c6"}); });
  of.writes();
  of.it->prove(of.now()); // someone else's younger snapshot

  of.hands_over(0, early);
  of.copies(0, {{"1", "a1", "b2", "c3"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(*of.at_target("1"), (row{"1", "a4", "b5", "c6"}));
}

TEST(load_rule, under_ranges_by_page_every_key_belongs_to_all_of_them) {
  history of{options{.pages = 3}};
  of.opens({0, 1, 2});
  for (const auto range : {0U, 1U, 2U})
    of.hands_over(range);
  of.ends(0);
  of.transaction(701, [](script& t) { t.update({"4", "a7", "-", "-"}); });
  of.writes();
  EXPECT_EQ(of.it->entries(), 1U);

  of.ends(1);
  of.ends(2);
  of.writes();

  EXPECT_TRUE(of.is_listed("4"));
}

TEST(load_rule, a_refetch_of_a_row_that_is_gone_takes_it_off_the_list) {
  history of{options{.is_loaded = true}};
  of.transaction(701, [](script& t) { t.update({"1", "a1", "-", "-"}); });
  of.writes();
  ASSERT_TRUE(of.is_listed("1"));

  EXPECT_EQ(of.refetches("1", std::nullopt), verdict::accepted);
  of.writes();

  EXPECT_FALSE(of.is_listed("1"));
  EXPECT_EQ(of.it->listed(), 0U);
  EXPECT_EQ(of.it->entries(), 0U);
}

TEST(load_rule, a_refetch_waits_for_the_stream_like_any_copied_row) {
  history of{options{.is_loaded = true}};
  of.transaction(701, [](script& t) { t.update({"1", "a1", "-", "-"}); });
  of.writes();
  const auto later = of.logs(702, [](script& t) { t.remove("1"); });

  EXPECT_EQ(of.refetches("1", std::nullopt), verdict::accepted);
  of.writes();
  EXPECT_TRUE(of.is_listed("1"));
  EXPECT_TRUE(of.it->waits_for());

  of.streams(later);
  of.writes();
  EXPECT_FALSE(of.is_listed("1"));
  EXPECT_EQ(of.it->listed(), 0U);
}

TEST(load_rule, a_row_deleted_by_hand_at_the_target_is_read_again) {
  history of{options{.bounds = {}}};
  of.hides(701);
  of.opens({0});
  of.hands_over(0);
  of.transaction(701, [](script& t) { t.insert({"1", "a", "b", "c"}); });
  of.writes();
  of.at.tables["items"].rows.clear();
  of.transaction(702, [](script& t) { t.update({"1", "a2", "-", "-"}); });
  of.writes();
  of.ends(0);
  of.writes();

  EXPECT_TRUE(of.is_listed("1"));
  of.shows(701);
  of.refetches("1", row{"1", "a2", "b", "c"});
  of.writes();
  EXPECT_EQ(*of.at_target("1"), (row{"1", "a2", "b", "c"}));
}

TEST(load_rule, a_complete_row_of_the_stream_takes_its_key_off_the_list) {
  history of{options{.is_loaded = true}};
  of.transaction(701, [](script& t) { t.update({"1", "a1", "-", "-"}); });
  of.writes();
  ASSERT_EQ(of.it->listed(), 1U);

  of.transaction(702, [](script& t) { t.update({"1", "a2", "b2", "c2"}); });
  of.writes();

  EXPECT_FALSE(of.is_listed("1"));
  EXPECT_EQ(of.it->listed(), 0U);
}

TEST(load_rule, a_range_read_again_after_its_reader_died_does_no_harm) {
  history of{options{.bounds = {}}};
  of.opens({0});
  of.hands_over(0);
  of.copies(0, {{"1", "a", "b", "c"}});
  of.it->lose_range({0, 0});
  of.transaction(701, [](script& t) { t.remove("1"); });

  EXPECT_EQ(of.hands_over(0), verdict::accepted);
  of.copies(0, {{"2", "a", "b", "c"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(of.at_target("1"), nullptr);
  EXPECT_NE(of.at_target("2"), nullptr);
  EXPECT_TRUE(of.it->load_finished());
}

TEST(load_rule, progress_is_durable_wave_by_wave_and_survives_a_crash) {
  history of{options{.bounds = {"10", "20"}}};
  of.loads(0, {{"1", "a", "b", "c"}});
  of.loads(2, {{"25", "a", "b", "c"}});
  EXPECT_TRUE(of.heard(news::what::wave_durable));

  of.crashes();

  EXPECT_EQ(of.it->progress(0).done, (std::vector{true, false, true}));
  of.loads(1, {{"15", "a", "b", "c"}});
  EXPECT_TRUE(of.it->load_finished());
  EXPECT_EQ(of.at.records.count("gate"), 1U);

  of.transaction(701, [](script& t) { t.insert({"2", "a", "b", "c"}); });
  of.writes();
  EXPECT_EQ(of.at.records.count("gate"), 0U) << "nothing is kept for the gate after the load";
}

TEST(load_rule, a_hot_row_does_not_starve_the_load) {
  history of{options{.bounds = {}}};
  of.opens({0});
  of.hands_over(0);
  for (std::uint32_t round = 0; round < 30; ++round) {
    of.transaction(701 + round, [&](script& t) {
      t.update({"1", "a" + std::to_string(round), "-", "-"});
    });
    of.writes();
  }

  of.copies(0, {{"1", "a", "b", "c"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(*of.at_target("1"), (row{"1", "a29", "b", "c"}));
  EXPECT_TRUE(of.it->load_finished());
  EXPECT_EQ(of.it->listed(), 0U);
}

TEST(load_rule, a_new_row_without_all_its_columns_is_read_again_when_its_range_is_closed) {
  history of{options{.is_loaded = true}};
  of.transaction(701, [](script& t) { t.insert({"1", "a", "-", "c"}); });
  of.writes();

  EXPECT_EQ(of.at_target("1"), nullptr);
  EXPECT_TRUE(of.is_listed("1"));
}

TEST(load_rule, a_row_supplied_in_a_younger_shape_keeps_its_new_column) {
  history of{options{.bounds = {}}};
  auto wider = std::make_shared<relation>(*of.shape);
  wider->columns.push_back(
      {.name = "d", .attribute = 5, .type_oid = 25, .what = kind::text, .type_name = "text"});
  of.opens({0});
  of.hides(701);
  of.hands_over(0);
  of.log.on(wider);
  of.transaction(701, [](script& t) { t.update({"1", "a4", "-", "-", "d4"}); });
  ASSERT_EQ(of.it->unknown_shape(), relation_ptr{wider});
  ASSERT_TRUE(of.it->provide(wider, target_of(wider)));
  of.copies(0, {{"1", "a1", "b2", "c3"}});
  of.ends(0);
  of.writes();

  EXPECT_EQ(of.at.story, (std::vector<std::string>{"partial 1 a4 - - d4", "upsert 1 a4 b2 c3",
                                                   "partial 1 - - - d4"}));
}

} // namespace
} // namespace cdc::engine::test
