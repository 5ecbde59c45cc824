// Random worlds against the real engine. CDC_HISTORIES=n lives n of each kind instead; CDC_SEED=s
// lives that one alone, or, with CDC_HISTORIES=n, n from there on.
#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/simulation/budget.hpp"
#include "tests/simulation/history.hpp"

namespace cdc::simulation {
namespace {

/// A world in which nothing happens loses nothing either: among a thousand histories each of these
/// must have been met.
void meet_what_is_rare(const std::vector<outcome>& lived, bool has_keys) {
  const auto met = [&](const char* what, auto count) {
    const auto times =
        std::ranges::count_if(lived, [&](const outcome& each) { return count(each.counts) > 0; });
    std::cout << fmt::format("{:>8} of {} histories: {}\n", times, lived.size(), what);
    if (lived.size() >= 1000) {
      EXPECT_GT(times, 0) << what;
    }
  };
  met("a crash", [](const auto& all) { return all.crashes; });
  met("a power cut at the target", [](const auto& all) { return all.power_cuts; });
  met("a late write of a dead process", [](const auto& all) { return all.late; });
  met("a transaction in pieces", [](const auto& all) { return all.pieces; });
  met("a reader lost", [](const auto& all) { return all.load.lost; });
  met("a snapshot refused", [](const auto& all) { return all.load.refused; });
  if (!has_keys)
    return;
  met("a copied row merged", [](const auto& all) { return all.merged; });
  met("a copied row dropped", [](const auto& all) { return all.superseded; });
  met("a row read by its key", [](const auto& all) { return all.load.refetched; });
  met("the map begun anew", [](const auto& all) { return all.load.begun_anew; });
}

void lose_nothing(const tilt& wanted, std::uint64_t optimised) {
  const auto seed = number_from("CDC_SEED");
  const auto count = seed ? number_from("CDC_HISTORIES").value_or(1) : histories(optimised);
  std::vector<outcome> lived;

  const auto found = find_failure(seed.value_or(1), count, wanted, {}, &lived);

  ASSERT_FALSE(found) << "CDC_SEED=" << found->seed << " repeats this:\n" << tell(found->failing);
  meet_what_is_rare(lived, wanted.keyed || wanted.paged);
}

TEST(load_rule, loses_nothing_in_any_history) {
  lose_nothing({}, 40'000);
}

TEST(load_rule, loses_nothing_with_ranges_by_key) {
  lose_nothing({.paged = false, .keyless = false}, 30'000);
}

TEST(load_rule, loses_nothing_with_ranges_by_page) {
  lose_nothing({.keyed = false, .keyless = false}, 20'000);
}

TEST(load_rule, loses_nothing_of_tables_without_a_key) {
  lose_nothing({.keyed = false, .paged = false}, 20'000);
}

TEST(load_rule, loses_nothing_while_commits_stay_hidden_and_keys_move) {
  lose_nothing({.keyless = false, .is_hidden_often = true, .moves_often = true}, 20'000);
}

TEST(load_rule, loses_nothing_at_a_target_of_documents) {
  lose_nothing({.keyless = false, .document = true, .by_hand = false}, 20'000);
}

} // namespace
} // namespace cdc::simulation
