// A checker that never fails proves nothing: without any one part of the load rule, a history must
// be found that goes wrong. Each part is looked for where it matters; how long that takes at most
// is part of the test. CDC_TELL=1 tells the histories.
//
// Of what load-rule.md says is not needed for the result, nothing is a switch: a copied row is
// always merged whole with the cells of the stream (liveness_test.cpp: a busy row is not starved by
// that), one that the stream has overtaken is always dropped, a listed row waits for the mark, and
// versions and E are one kind of position.
#include <iostream>

#include <gtest/gtest.h>

#include "tests/simulation/budget.hpp"
#include "tests/simulation/history.hpp"

namespace cdc::simulation {

/// A switch of the rule, and the worlds in which its absence shows.
struct part {
  const char* name;
  bool engine::rule_switches::*which;
  tilt where{};

  friend void PrintTo(const part& what, std::ostream* to) { *to << what.name; }
};

namespace {

constexpr tilt with_keys{.keyless = false, .by_hand = false};
constexpr tilt hidden{.keyless = false, .by_hand = false, .is_hidden_often = true};
constexpr tilt moving{.keyless = false, .truncates = false, .by_hand = false, .moves_often = true};
constexpr tilt emptying{
    .keyless = false, .by_hand = false, .truncates_often = true, .lags_often = true};
constexpr tilt overflowing{
    .keyless = false, .by_hand = false, .is_hidden_often = true, .overflows_often = true};
constexpr tilt documents{.keyless = false,
                         .document = true,
                         .by_hand = false,
                         .is_hidden_often = true,
                         .moves_often = true};
constexpr tilt lagging_documents{
    .keyless = false, .document = true, .by_hand = false, .moves_often = true, .lags_often = true};
constexpr tilt keyless_only{.keyed = false, .paged = false};

using rule = engine::rule_switches;

constexpr part parts[] = {
    {"entry_waits_for_proof", &rule::entry_waits_for_proof, hidden},
    {"gate", &rule::gate, hidden},
    {"gate_at_first_start", &rule::gate_at_first_start, hidden},
    {"gate_stored_with_checkpoint", &rule::gate_stored_with_checkpoint, hidden},
    {"gate_restored_is_stored_again", &rule::gate_restored_is_stored_again, hidden},
    {"gate_left_by_proof_only", &rule::gate_left_by_proof_only, hidden},
    {"gate_counts_open_transaction", &rule::gate_counts_open_transaction, overflowing},
    {"gate_grows_when_map_is_anew", &rule::gate_grows_when_map_is_anew, overflowing},
    {"gate_only_grows", &rule::gate_only_grows, hidden},
    {"entry_accumulates_cells", &rule::entry_accumulates_cells, with_keys},
    {"moved_row_takes_nothing_older", &rule::moved_row_takes_nothing_older, moving},
    {"rows_wait_for_log_end", &rule::rows_wait_for_log_end, with_keys},
    {"truncate_leaves_gone", &rule::truncate_leaves_gone, emptying},
    {"list_is_durable", &rule::list_is_durable, moving},
    {"list_before_progress", &rule::list_before_progress, moving},
    {"entry_waits_for_answers", &rule::entry_waits_for_answers, moving},
    {"list_closed_at_mark_acked", &rule::list_closed_at_mark_acked, moving},
    {"refetch_sees_first", &rule::refetch_sees_first, moving},
    {"range_open_before_snapshot", &rule::range_open_before_snapshot, hidden},
    {"opaque_ranges_are_whole_table",
     &rule::opaque_ranges_are_whole_table,
     {.keyed = false, .keyless = false, .by_hand = false}},
    {"merged_version_is_highest", &rule::merged_version_is_highest, with_keys},
    {"merged_version_is_highest_at_documents", &rule::merged_version_is_highest, documents},
    {"entry_waits_for_proof_at_documents", &rule::entry_waits_for_proof, documents},
    {"rows_wait_for_log_end_at_documents", &rule::rows_wait_for_log_end, lagging_documents},
    {"list_before_progress_at_documents", &rule::list_before_progress, documents},
    {"keyless_gate", &rule::keyless_gate, keyless_only},
    {"keyless_pause", &rule::keyless_pause, keyless_only},
    {"keyless_by_membership", &rule::keyless_by_membership, keyless_only},
    {"keyless_snapshot_is_durable", &rule::keyless_snapshot_is_durable, keyless_only},
    {"keyless_empties_first", &rule::keyless_empties_first, keyless_only},
};

class load_rule_part : public testing::TestWithParam<part> {};

TEST_P(load_rule_part, is_missed_when_it_is_left_out) {
  engine::rule_switches without;
  without.*GetParam().which = false;

  const auto found = find_failure(1, 10'000, GetParam().where, without);

  ASSERT_TRUE(found);
  if (number_from("CDC_TELL"))
    std::cout << "CDC_SEED=" << found->seed << "\n" << tell(found->failing, without);
}

// The plain form: what was in progress when a load began in a pipeline that was running already.
TEST(start_view, is_missed_when_it_is_left_out) {
  const auto found = find_failure(
      1, 10'000,
      {.keyless = false, .by_hand = false, .is_hidden_often = true, .omits_start_view = true});

  ASSERT_TRUE(found);
  if (number_from("CDC_TELL"))
    std::cout << "CDC_SEED=" << found->seed << "\n" << tell(found->failing);
}

INSTANTIATE_TEST_SUITE_P(each, load_rule_part, testing::ValuesIn(parts),
                         [](const auto& named) { return std::string{named.param.name}; });

} // namespace
} // namespace cdc::simulation
