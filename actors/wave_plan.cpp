#include "actors/wave_plan.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cdc::actors {

void wave_plan::add(std::optional<table_progress> progress) {
  auto& next = tables_.emplace_back();
  if (!progress)
    return;
  next.state = planning::known;
  next.plan = std::move(progress->plan);
  next.done = progress->done;
  next.taken = progress->done;
}

void wave_plan::planned(std::uint16_t number, load_plan plan) {
  auto& known = tables_[number];
  known.state = planning::known;
  known.plan = std::move(plan);
  known.done.assign(known.plan.ranges.size(), false);
  known.taken = known.done;
}

std::optional<std::uint16_t> wave_plan::next_to_plan() {
  for (std::size_t number = 0; number < tables_.size(); ++number)
    if (tables_[number].state == planning::wanted) {
      tables_[number].state = planning::asked;
      return static_cast<std::uint16_t>(number);
    }
  return std::nullopt;
}

void wave_plan::plan_again(std::uint16_t number) {
  tables_[number].state = planning::wanted;
}

std::vector<range_ref> wave_plan::next_wave() {
  if (is_open())
    return {};
  std::uint64_t rows = 0;
  const auto take = [&](bool keyless) {
    for (std::size_t number = 0; number < tables_.size(); ++number) {
      auto& from = tables_[number];
      if ((from.plan.scheme == range_scheme::keyless) != keyless)
        continue;
      while (open_.size() < limits_.ranges && rows < limits_.rows) {
        const auto range = take_unread(from);
        if (!range)
          break;
        open_.push_back({static_cast<std::uint16_t>(number), *range});
        rows += from.plan.rows_estimate / from.plan.ranges.size();
        if (keyless)
          return;
      }
    }
  };
  const auto is_outstanding =
      std::any_of(tables_.begin(), tables_.end(),
                  [](const table_ranges& one) { return one.state != planning::known; });
  take(false);
  // What a short wave would lack may come with the next plan.
  const auto is_full = open_.size() == limits_.ranges || rows >= limits_.rows;
  if (is_outstanding && !is_full) {
    wave_void();
    return {};
  }
  if (open_.empty())
    take(true);
  return open_;
}

void wave_plan::wave_done() {
  for (const auto& range : open_)
    tables_[range.table].done[range.range] = true;
  open_.clear();
}

void wave_plan::wave_void() {
  for (const auto& range : open_) {
    auto& of = tables_[range.table];
    of.taken[range.range] = false;
    of.first_unread = std::min<std::size_t>(of.first_unread, range.range);
  }
  open_.clear();
}

bool wave_plan::finished() const noexcept {
  return std::all_of(tables_.begin(), tables_.end(), [](const table_ranges& one) {
    return one.state == planning::known &&
           std::all_of(one.done.begin(), one.done.end(), [](bool done) { return done; });
  });
}

std::uint32_t wave_plan::ranges_done(std::uint16_t number) const noexcept {
  const auto& done = tables_[number].done;
  return static_cast<std::uint32_t>(std::count(done.begin(), done.end(), true));
}

std::optional<std::uint32_t> wave_plan::take_unread(table_ranges& from) {
  auto& next = from.first_unread;
  while (next < from.taken.size() && from.taken[next])
    ++next;
  if (next == from.taken.size())
    return std::nullopt;
  from.taken[next] = true;
  return static_cast<std::uint32_t>(next);
}

} // namespace cdc::actors
