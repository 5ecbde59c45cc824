// Random worlds against the real engine. CDC_HISTORIES=n lives n of each kind instead; CDC_SEED=s
// lives that one alone.
#include <iostream>

#include <gtest/gtest.h>

#include "tests/simulation/budget.hpp"
#include "tests/simulation/history.hpp"

namespace cdc::simulation {
namespace {

void loses_nothing(const tilt& wanted, std::uint64_t optimised) {
  const auto only = number_from("CDC_SEED");
  std::vector<outcome> lived;
  const auto found =
      find_failure(only.value_or(1), only ? 1 : histories(optimised), wanted, {}, &lived);
  ASSERT_FALSE(found) << "CDC_SEED=" << found->seed << " repeats this:\n" << tell(found->failing);

  world::tally sum;
  for (const auto& each : lived) {
    sum.crashes += each.counts.crashes > 0;
    sum.fenced += each.counts.fenced > 0;
    sum.merged += each.counts.merged > 0;
    sum.superseded += each.counts.superseded > 0;
    sum.load.refused += each.counts.load.refused > 0;
    sum.load.refetched += each.counts.load.refetched > 0;
    sum.load.lost += each.counts.load.lost > 0;
    sum.load.begun_anew += each.counts.load.begun_anew > 0;
  }
  std::cout << fmt::format(
      "{} histories: {} with a crash, {} with a late batch fenced, {} with a copied "
      "row merged, {} superseded, {} with a snapshot refused, {} with a row "
      "refetched, {} with a reader lost, {} with the map begun anew\n",
      lived.size(), sum.crashes, sum.fenced, sum.merged, sum.superseded, sum.load.refused,
      sum.load.refetched, sum.load.lost, sum.load.begun_anew);
}

TEST(load_rule, loses_nothing_in_any_history) {
  loses_nothing({}, 40'000);
}

TEST(load_rule, loses_nothing_with_ranges_by_key) {
  loses_nothing({.paged = false, .keyless = false}, 30'000);
}

TEST(load_rule, loses_nothing_with_ranges_by_page) {
  loses_nothing({.keyed = false, .keyless = false}, 15'000);
}

TEST(load_rule, loses_nothing_of_tables_without_a_key) {
  loses_nothing({.keyed = false, .paged = false}, 15'000);
}

TEST(load_rule, loses_nothing_while_commits_stay_hidden_and_keys_move) {
  loses_nothing({.keyless = false, .is_hidden_often = true, .moves_often = true}, 15'000);
}

} // namespace
} // namespace cdc::simulation
