#include "engine/gate.hpp"

#include <array>

#include <gtest/gtest.h>

namespace cdc::engine {
namespace {

snapshot sees_all_below(std::uint64_t xmax, std::vector<std::uint64_t> but = {}) {
  return {.xmin = but.empty() ? xmax : but.front(), .xmax = xmax, .in_progress = std::move(but)};
}

void pass(gate& through, std::uint32_t xid) {
  through.pass(xid);
  through.passed();
}

/// What a target holds after these records.
void store(sink_state& at, gate& from) {
  std::vector<record> records;
  from.take_records(records);
  for (const auto& each : records) {
    std::erase_if(at.records, [&](const auto& known) { return known.first == each.name; });
    if (each.value)
      at.records.emplace_back(each.name, *each.value);
  }
}

TEST(gate, stores_what_was_passed_whole_with_the_next_checkpoint) {
  gate now{{}, true};
  sink_state at;
  pass(now, 701);
  now.pass(702); // still open
  store(at, now);
  gate later{{}, true};
  ASSERT_TRUE(later.restore(at));

  EXPECT_FALSE(later.admits(sees_all_below(800, {701})));
  EXPECT_TRUE(later.admits(sees_all_below(800, {702})));
}

TEST(gate, a_proof_takes_a_transaction_out_and_its_record_away) {
  gate now{{}, true};
  sink_state at;
  pass(now, 701);
  pass(now, 702);
  store(at, now);
  EXPECT_EQ(at.records.size(), 2U);
  now.prove(sees_all_below(800, {702}));
  store(at, now);
  EXPECT_EQ(at.records.size(), 2U) << "702 is in the same record";

  now.prove(sees_all_below(800));
  store(at, now);

  EXPECT_EQ(at.records.size(), 1U);
  EXPECT_TRUE(holds_gate(at));
  EXPECT_FALSE(now.wants_proof());
}

TEST(gate, what_was_restored_is_kept_until_it_is_proved) {
  sink_state at{.records = {{"gate", "kept"}, {"unproved/4", "701,702"}}};
  for (int life = 0; life < 3; ++life) {
    gate again{{}, true};
    ASSERT_TRUE(again.restore(at));
    EXPECT_FALSE(again.admits(sees_all_below(800, {702})));
    pass(again, 710);
    store(at, again);
  }
  EXPECT_EQ(at.records.size(), 5U);
}

TEST(gate, a_snapshot_taken_earlier_may_be_handed_over_later) {
  gate now{{}, true};
  ASSERT_TRUE(now.restore({.records = {{"gate", "kept"}, {"unproved/1", "701"}}}));
  now.prove(sees_all_below(800));

  EXPECT_FALSE(now.admits(sees_all_below(750, {701})));
}

TEST(gate, does_not_count_what_a_snapshot_has_seen_already) {
  gate now{{}, true};
  now.prove(sees_all_below(800));
  pass(now, 701);

  EXPECT_FALSE(now.wants_proof());
  EXPECT_TRUE(now.has_proof(701));
  EXPECT_FALSE(now.has_proof(800));
}

TEST(gate, an_older_snapshot_does_not_take_a_proof_back) {
  gate now{{}, true};
  now.prove(sees_all_below(800));
  now.prove(sees_all_below(750, {740}));

  EXPECT_TRUE(now.has_proof(790));
  EXPECT_TRUE(now.has_proof(740));
}

TEST(gate, keeps_nothing_after_the_load) {
  gate now{{}, true};
  sink_state at;
  pass(now, 701);
  store(at, now);
  now.finish();
  pass(now, 702);
  EXPECT_TRUE(now.has_records());
  store(at, now);

  EXPECT_TRUE(at.records.empty());
  EXPECT_FALSE(now.has_records());
}

TEST(gate, removes_what_a_crash_at_the_loads_end_left_behind) {
  sink_state at{.records = {{"gate", "kept"}, {"unproved/1", "701"}}};
  gate now{{}, false};
  ASSERT_TRUE(now.restore(at));
  EXPECT_FALSE(now.admits(sees_all_below(800, {701})));

  store(at, now);

  EXPECT_TRUE(at.records.empty());
}

TEST(gate, the_plain_form_is_stored_so_that_a_restart_is_narrow) {
  gate now{{}, true};
  sink_state at;
  now.require(std::array<transaction_id, 2>{701, 705});
  EXPECT_TRUE(now.has_records());
  store(at, now);
  gate later{{}, true};
  ASSERT_TRUE(later.restore(at));

  EXPECT_FALSE(later.admits(sees_all_below(800, {705})));
}

TEST(gate, refuses_records_it_does_not_understand) {
  gate now{{}, true};

  EXPECT_FALSE(now.restore({.records = {{"unproved/x", "701"}}}));
  EXPECT_FALSE(now.restore({.records = {{"unproved/1", "seven"}}}));
  EXPECT_FALSE(now.restore({.records = {{"unproved/1", ""}}}));
}

TEST(gate, compares_transactions_across_an_epoch) {
  gate now{{}, true};
  pass(now, 5); // 2^32 + 5

  EXPECT_FALSE(now.admits(sees_all_below(1)) && now.has_proof(5));
  now.prove(sees_all_below((std::uint64_t{1} << 32) + 5));
  EXPECT_TRUE(now.wants_proof());
  now.prove(sees_all_below((std::uint64_t{1} << 32) + 6));
  EXPECT_FALSE(now.wants_proof());
}

TEST(gate, says_of_which_targets_it_holds_every_transaction) {
  gate now{{}, true};
  now.covers(std::array<std::string, 2>{"a", "b c"});
  sink_state at;
  store(at, now);

  EXPECT_TRUE(holds_gate(at, "a"));
  EXPECT_TRUE(holds_gate(at, "b c"));
  EXPECT_FALSE(holds_gate(at, "b"));
  EXPECT_FALSE(holds_gate(at, "kept"));
  gate later{{}, true};
  later.covers(std::array<std::string, 2>{"a", "d"});
  ASSERT_TRUE(later.restore(at));
  EXPECT_TRUE(later.has_records()) << "what is stored does not know d";
  store(at, later);
  EXPECT_TRUE(holds_gate(at, "d"));
  EXPECT_FALSE(holds_gate(at, "b c"));
}

} // namespace
} // namespace cdc::engine
