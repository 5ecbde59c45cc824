#include "engine/load_ranges.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace cdc::engine {

void load_ranges::plan(const relation& shape, load_plan plan, const std::vector<bool>& done) {
  if (plan.ranges.empty())
    plan.ranges.emplace_back();
  plan_ = std::move(plan);
  space_ = key_space{shape, plan_};
  each_.assign(plan_.ranges.size(), {});
  unopened_ = left_ = each_.size();
  for (std::uint32_t i = 0; i < each_.size() && i < done.size(); ++i) {
    if (!done[i])
      continue;
    move(i, range_phase::finished);
    each_[i].is_marked = true;
    ++marked_;
  }
}

// -- what happens to a range --------------------------------------------------------------------

void load_ranges::move(std::uint32_t range, range_phase to) {
  const auto count = [&](range_phase phase, std::size_t by) {
    unopened_ += phase == range_phase::unopened ? by : 0;
    open_ += phase == range_phase::open ? by : 0;
    left_ += phase < range_phase::ended ? by : 0;
    ended_ += phase == range_phase::ended ? by : 0;
    finished_ += phase == range_phase::finished ? by : 0;
  };
  auto& phase = each_[range].phase;
  if (phase == range_phase::reading)
    std::erase(reading_, range);
  count(phase, static_cast<std::size_t>(-1));
  phase = to;
  count(phase, 1);
  if (phase == range_phase::reading)
    reading_.push_back(range);
}

void load_ranges::open(std::uint32_t range) {
  move(range, range_phase::open);
}

void load_ranges::close(std::uint32_t range) {
  move(range, range_phase::unopened);
}

void load_ranges::read(std::uint32_t range, const snapshot& seen, position log_end) {
  each_[range].seen = seen;
  each_[range].log_end = log_end;
  move(range, range_phase::reading);
}

void load_ranges::end(std::uint32_t range) {
  move(range, range_phase::ended);
}

void load_ranges::mark(std::uint32_t range) {
  if (!std::exchange(each_[range].is_marked, true))
    ++marked_;
}

void load_ranges::answer(std::uint32_t range) {
  move(range, range_phase::answered);
}

void load_ranges::finish(std::uint32_t range) {
  move(range, range_phase::finished);
}

void load_ranges::begin_anew() {
  for (std::uint32_t i = 0; i < each_.size(); ++i) {
    if (!each_[i].is_marked)
      move(i, range_phase::unopened);
  }
}

std::vector<bool> load_ranges::done() const {
  std::vector<bool> out(each_.size());
  for (std::size_t i = 0; i < each_.size(); ++i)
    out[i] = each_[i].phase == range_phase::finished;
  return out;
}

// -- what the ranges mean for a key -------------------------------------------------------------

std::uint32_t load_ranges::range_of(std::string_view key) const {
  const auto known = space_.range_of(key);
  if (known != key_space::any || rule_.opaque_ranges_are_whole_table || each_.empty())
    return known;
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(key) % each_.size());
}

bool load_ranges::is_left(std::uint32_t range) const {
  if (range == key_space::any || !rule_.opaque_ranges_are_whole_table)
    return any_left();
  return each_[range].phase < range_phase::ended;
}

bool load_ranges::is_closed(std::uint32_t range) const {
  return range == key_space::any ? marked_ > 0 : each_[range].is_marked;
}

bool load_ranges::let_go(std::uint32_t range, entry_state state, transaction_id last,
                         const gate& proofs) const {
  if (range == key_space::any)
    return let_go_of_any(state, last, proofs);
  return let_go_of_one(each_[range], state, last, proofs);
}

bool load_ranges::unopened_lets_go(transaction_id last, const gate& proofs) const {
  return !rule_.entry_waits_for_proof || proofs.has_proof(last);
}

bool load_ranges::let_go_of_one(const one& range, entry_state state, transaction_id last,
                                const gate& proofs) const {
  // A partial entry must be there when the answers to the mark are in.
  const auto waits = state == entry_state::partial && rule_.entry_waits_for_answers;
  switch (range.phase) {
    case range_phase::unopened:
      return unopened_lets_go(last, proofs);
    case range_phase::open:
      return !rule_.range_open_before_snapshot && unopened_lets_go(last, proofs);
    case range_phase::reading:
      return !waits && range.seen.is_sure_of(last);
    case range_phase::ended:
      return !waits;
    case range_phase::answered:
    case range_phase::finished:
      return true;
  }
  return false;
}

bool load_ranges::let_go_of_any(entry_state state, transaction_id last, const gate& proofs) const {
  if (each_.empty())
    return state != entry_state::partial && unopened_lets_go(last, proofs);
  if (state == entry_state::partial && rule_.entry_waits_for_answers && (left_ > 0 || ended_ > 0))
    return false;
  if (open_ > 0 && rule_.range_open_before_snapshot)
    return false;
  if ((unopened_ > 0 || open_ > 0) && !unopened_lets_go(last, proofs))
    return false;
  return std::ranges::all_of(
      reading_, [&](std::uint32_t range) { return each_[range].seen.is_sure_of(last); });
}

} // namespace cdc::engine
