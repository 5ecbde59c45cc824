// The load's side: waves of ranges, copied rows, refetches, tables without a key.
#include <algorithm>
#include <utility>

#include "engine/engine_state.hpp"
#include "messages/row_key.hpp"

namespace cdc::engine {

namespace {

// Read at once at most; the others wait on the list.
constexpr std::size_t refetches_out_max = 64;

} // namespace

// -- waves --------------------------------------------------------------------------------------

void engine::state::planned(std::uint16_t table, load_plan plan) {
  auto& of = *tables_[table];
  if (of.is_keyless()) {
    plan.scheme = range_scheme::keyless;
    plan.ranges.assign(1, {});
  }
  of.ranges.plan(*of.target->source, std::move(plan), {});
  load_.planned(of);
  of.settle();
}

void engine::state::open_wave(std::span<const range_ref> ranges) {
  if (wave_.at > open_wave_state::stage::reading)
    return;
  abandon_wave();
  wave_.at = open_wave_state::stage::reading;
  for (const auto& each : ranges) {
    auto& table = *tables_[each.table];
    table.ranges.open(each.range);
    wave_.lanes.push_back({.range = each, .rows = {}, .is_read = false});
    if (table.is_keyless())
      wave_.keyless = &table;
  }
  pause_is_wanted_ = wave_.keyless != nullptr;
  if (pause_is_wanted_ && !rule_.keyless_pause)
    pause_for_keyless();
  work_is_due_ = true;
  pump();
}

/// Whoever opens another wave no longer reads this one. Nothing of it counts: rows that were passed
/// do no harm.
void engine::state::abandon_wave() {
  for (auto& lane : wave_.lanes) {
    drop_rows(lane);
    tables_[lane.range.table]->ranges.close(lane.range.range);
  }
  if (wave_.keyless != nullptr)
    wave_.keyless->keyless = {};
  pause_is_wanted_ = is_paused_ = false;
  wave_ = {};
}

range_lane* engine::state::lane_of(range_ref range) {
  const auto found = std::ranges::find(wave_.lanes, range, &range_lane::range);
  return found == wave_.lanes.end() ? nullptr : &*found;
}

verdict engine::state::hand_over(range_ref range, const snapshot& seen, position log_end) {
  auto& table = *tables_[range.table];
  if (lane_of(range) == nullptr || table.ranges.phase(range.range) != range_phase::open)
    return verdict::not_yet;
  prove(seen);
  if (&table == wave_.keyless)
    return hand_over_keyless(table, seen, log_end);
  if (!gate_.admits(seen))
    return verdict::not_yet;
  table.ranges.read(range.range, seen, log_end);
  sweep(true);
  pump();
  return verdict::accepted;
}

void engine::state::rows(range_ref range, block_ptr copied) {
  auto* lane = lane_of(range);
  if (lane == nullptr || tables_[range.table]->ranges.phase(range.range) != range_phase::reading) {
    range_lane stray{.range = range, .rows = {}, .is_read = false};
    stray.rows.push_back(std::move(copied));
    drop_rows(stray);
    return;
  }
  lane->rows.push_back(std::move(copied));
  pump();
}

void engine::state::end_range(range_ref range) {
  auto* lane = lane_of(range);
  if (lane == nullptr || tables_[range.table]->ranges.phase(range.range) != range_phase::reading)
    return;
  lane->is_read = true;
  work_is_due_ = true;
  pump();
}

void engine::state::lose_range(range_ref range) {
  auto* lane = lane_of(range);
  auto& table = *tables_[range.table];
  if (lane == nullptr || table.ranges.phase(range.range) != range_phase::reading)
    return;
  drop_rows(*lane);
  lane->is_read = false;
  table.ranges.open(range.range);
  if (&table == wave_.keyless)
    table.keyless.at = keyless_load::stage::waiting;
}

/// Rows that nobody will look at: the range is read again, or was.
void engine::state::drop_rows(range_lane& lane) {
  for (const auto& each : lane.rows) {
    copied_.read += each->events.size();
    copied_.superseded += each->events.size();
    load_credit_ += credit{1, each->bytes()};
  }
  lane.rows.clear();
}

// -- copied rows --------------------------------------------------------------------------------

bool engine::state::may_pass(const range_lane& lane) const {
  const auto& table = *tables_[lane.range.table];
  if (table.ranges.phase(lane.range.range) != range_phase::reading)
    return false;
  // The stream stands for a table without a key: it would wait for ever.
  return table.is_keyless() || !rule_.rows_wait_for_log_end ||
         passed_ >= table.ranges.log_end(lane.range.range);
}

void engine::state::release_rows() {
  for (auto& lane : wave_.lanes) {
    if (failed_ || !may_pass(lane))
      continue;
    auto& table = *tables_[lane.range.table];
    while (!lane.rows.empty()) {
      if (!copy_block(table, table.ranges.seen(lane.range.range), lane.rows.front()))
        break;
      lane.rows.pop_front();
    }
  }
}

/// False: a shape in it has no target yet.
bool engine::state::copy_block(tracked_table& table, const snapshot& seen, const block_ptr& rows) {
  if (!resolve(*rows, routes_copied_))
    return false;
  out_.enter(rows);
  for (const auto& each : rows->events) {
    auto& to = *routes_copied_[each.relation];
    ++copied_.read;
    if (to.table == &table)
      copy_row(each, to, seen);
    else
      ++copied_.filtered;
  }
  out_.stand();
  out_.leave(true);
  return true;
}

void engine::state::copy_row(const event& what, route& to, const snapshot& seen) {
  auto fate = copy_fate::written;
  if (to.key.empty())
    out_.push_copy(action::insert, to.to, change::none, what.first, out_.copy_version());
  else
    fate = load_.copied(to, what.first, seen);
  if (fate == copy_fate::dropped) {
    ++copied_.superseded;
    return;
  }
  out_.count_copied();
  if (fate == copy_fate::merged)
    out_.count_merged();
}

// -- the end of a wave --------------------------------------------------------------------------

void engine::state::work_on_wave() {
  using stage = open_wave_state::stage;
  if (wave_.at == stage::reading)
    wave_.keyless != nullptr ? end_keyless() : end_ranges();
  if (wave_.at == stage::marked && acknowledged_number_ >= wave_.mark)
    close_wave();
  if (wave_.at == stage::answered)
    record_progress();
}

void engine::state::end_ranges() {
  auto all_ended = true;
  auto some_ended = false;
  for (auto& lane : wave_.lanes) {
    auto& ranges = tables_[lane.range.table]->ranges;
    if (lane.is_read && lane.rows.empty() &&
        ranges.phase(lane.range.range) == range_phase::reading && may_pass(lane)) {
      ranges.end(lane.range.range);
      some_ended = true;
      if (!rule_.list_closed_at_mark_acked)
        load_.close_list(*tables_[lane.range.table], lane.range.range);
    }
    all_ended = all_ended && ranges.phase(lane.range.range) == range_phase::ended;
  }
  if (some_ended)
    sweep(true);
  if (!all_ended)
    return;
  for (const auto& lane : wave_.lanes)
    tables_[lane.range.table]->ranges.mark(lane.range.range);
  wave_.mark = out_.last_number();
  wave_.at = open_wave_state::stage::marked;
}

/// All answers to what was sent before the mark are in.
void engine::state::close_wave() {
  for (const auto& lane : wave_.lanes) {
    auto& table = *tables_[lane.range.table];
    if (rule_.list_closed_at_mark_acked)
      load_.close_list(table, lane.range.range);
    table.ranges.answer(lane.range.range);
  }
  refetches_are_due_ = true;
  wave_.at = open_wave_state::stage::answered;
}

void engine::state::record_progress() {
  auto& sealed = out_.seal();
  sealed.is_progress = true;
  for (const auto& each : tables_) {
    auto now = progress(*each);
    auto is_in_wave = false;
    for (const auto& lane : wave_.lanes) {
      if (lane.range.table == each->number)
        now.done[lane.range.range] = is_in_wave = true;
    }
    if (each->is_keyless() && !rule_.keyless_snapshot_is_durable)
      now.keyless.reset();
    if (is_in_wave)
      sealed.work->records.push_back({progress_record(each->target->name), to_text(now)});
    if (!rule_.list_before_progress || !rule_.list_is_durable)
      continue;
    each->list.for_each([&](const std::string& key, const refetch&) {
      if (load_.is_to_record(*each, key, acknowledged_number_))
        sealed.work->listed.push_back({each->target->name, key});
    });
  }
  wave_.at = open_wave_state::stage::recording;
}

void engine::state::finish_wave() {
  for (const auto& lane : std::exchange(wave_, {}).lanes)
    tables_[lane.range.table]->ranges.finish(lane.range.range);
  news_.push_back({.kind = news::what::wave_durable, .table = 0, .key = {}});
  sweep(true);
  load_finished_ =
      std::ranges::all_of(tables_, [](const auto& each) { return each->ranges.all_finished(); });
  if (!load_finished_)
    return;
  gate_.finish();
  news_.push_back({.kind = news::what::load_finished, .table = 0, .key = {}});
}

// -- tables without a key -----------------------------------------------------------------------

/// What was passed up to here and left out for the table is not known to be in any snapshot: the
/// one that is taken now must have seen all of it.
void engine::state::pause_for_keyless() {
  pause_is_wanted_ = false;
  auto& table = *wave_.keyless;
  is_paused_ = rule_.keyless_pause;
  table.keyless.at = keyless_load::stage::waiting;
  table.keyless.required =
      rule_.keyless_gate ? gate_.required_now() : std::vector<transaction_id>{};
  news_.push_back({.kind = news::what::stream_paused, .table = table.number, .key = {}});
}

verdict engine::state::hand_over_keyless(tracked_table& table, const snapshot& seen,
                                         position log_end) {
  auto& keyless = table.keyless;
  const auto has_seen_all =
      std::ranges::all_of(keyless.required, [&](transaction_id id) { return seen.is_sure_of(id); });
  if (keyless.at != keyless_load::stage::waiting || !has_seen_all)
    return verdict::not_yet;
  keyless.at = keyless_load::stage::reading;
  keyless.seen = seen;
  keyless.until = log_end;
  table.ranges.read(0, seen, log_end);
  if (rule_.keyless_empties_first) {
    (void)out_.own_block();
    auto& to = routes_.latest_of(table)->to;
    out_.push_own_copy(action::truncate, to, change::none, change::none, out_.copy_version());
    out_.stand();
  }
  pump();
  return verdict::accepted;
}

void engine::state::end_keyless() {
  auto& lane = wave_.lanes.front();
  auto& table = *wave_.keyless;
  if (!lane.is_read || !lane.rows.empty() || table.keyless.at != keyless_load::stage::reading)
    return;
  table.keyless.at = keyless_load::stage::loaded;
  table.ranges.end(0);
  table.ranges.mark(0);
  table.ranges.answer(0);
  record_progress();
  is_paused_ = false;
}

/// All that a kept snapshot saw lies at or below its log end: from a checkpoint there on, nothing
/// that is streamed again can be in it.
void engine::state::forget_snapshots() {
  for (const auto& each : tables_) {
    auto& keyless = each->keyless;
    if (!keyless.seen || !each->ranges.all_finished() || acknowledged_.resume < keyless.until)
      continue;
    keyless.seen.reset();
    records_.push_back({progress_record(each->target->name), to_text(progress(*each))});
    each->settle();
  }
}

// -- refetches ----------------------------------------------------------------------------------

void engine::state::ask_refetches() {
  if (!std::exchange(refetches_are_due_, false))
    return;
  for (const auto& each : tables_) {
    each->list.for_each([&](const std::string& key, refetch& item) {
      if (!item.is_open() || item.at != refetch::stage::idle || refetches_out_ >= refetches_out_max)
        return;
      item.at = refetch::stage::asked;
      ++refetches_out_;
      news_.push_back({.kind = news::what::refetch, .table = each->number, .key = key});
    });
  }
}

verdict engine::state::hand_over(std::uint16_t table, const std::string& key, const snapshot& seen,
                                 position log_end, block_ptr row) {
  prove(seen);
  auto& of = *tables_[table];
  auto* item = of.list.find(key);
  if (item == nullptr || item->at != refetch::stage::asked || !item->is_open()) {
    drop_refetch(of, key, row);
    return verdict::accepted;
  }
  if (!gate_.admits(seen) || load_.is_too_old(of, key, seen))
    return verdict::not_yet;
  item->at = refetch::stage::held;
  item->seen = seen;
  item->log_end = log_end;
  item->row = std::move(row);
  held_.emplace_back(&of, key);
  sweep(true);
  pump();
  return verdict::accepted;
}

/// The stream or another copy has put the key right meanwhile; this row passed no gate.
void engine::state::drop_refetch(tracked_table& table, const std::string& key,
                                 const block_ptr& row) {
  copied_.read += row ? 1 : 0;
  copied_.superseded += row ? 1 : 0;
  auto* item = table.list.find(key);
  if (item == nullptr || item->at != refetch::stage::asked)
    return;
  item->at = refetch::stage::idle;
  --refetches_out_;
  refetches_are_due_ = true;
  table.list.tidy(key);
  sweep(true);
  pump();
}

void engine::state::release_refetches() {
  std::erase_if(held_, [&](const auto& each) {
    auto* item = each.first->list.find(each.second);
    if (item == nullptr)
      return true;
    if (rule_.rows_wait_for_log_end && passed_ < item->log_end)
      return false;
    return finish_refetch(*each.first, each.second, *item);
  });
}

/// False: a shape in it has no target yet.
bool engine::state::finish_refetch(tracked_table& table, const std::string& key, refetch& item) {
  auto* to = routes_.latest_of(table);
  const auto row = item.row;
  if (row && !resolve(*row, routes_copied_))
    return false;
  const auto is_useless = !item.is_open() || load_.is_too_old(table, key, item.seen);
  if (row && is_useless) {
    ++copied_.read;
    ++copied_.superseded;
  } else if (row && !row->events.empty()) {
    const auto& what = row->events.front();
    to = routes_copied_[what.relation];
    std::string found;
    encode_key(*row, row->image(what.first, *row->relations[what.relation]), to->key, found);
    ++copied_.read;
    if (to->table == &table && found == key) {
      out_.enter(row);
      copy_row(what, *to, item.seen);
      out_.leave_unpaid();
    } else {
      ++copied_.filtered;
    }
  }
  const auto is_again = load_.refetched(table, *routes_.latest_of(table), key, item.seen);
  item.at = refetch::stage::idle;
  item.row.reset();
  --refetches_out_;
  refetches_are_due_ = true;
  if (!is_again)
    table.list.tidy(key);
  out_.stand();
  sweep(false);
  return true;
}

// -- proofs and the map -------------------------------------------------------------------------

void engine::state::prove(const snapshot& seen) {
  gate_.prove(seen);
  sweep(true);
}

bool engine::state::wants_proof() const {
  return gate_.wants_proof() || std::ranges::any_of(tables_, [](const auto& each) {
           return each->ranges.any_unopened() && (!each->entries.empty() || each->all_gone.is_on);
         });
}

std::optional<position> engine::state::waits_for() const {
  std::optional<position> out;
  const auto add = [&](position end) {
    if (passed_ < end)
      out = std::max(out.value_or(end), end);
  };
  for (const auto& lane : wave_.lanes) {
    const auto& ranges = tables_[lane.range.table]->ranges;
    const auto is_held = ranges.phase(lane.range.range) == range_phase::reading &&
                         wave_.keyless == nullptr && (!lane.rows.empty() || lane.is_read);
    if (is_held)
      add(ranges.log_end(lane.range.range));
  }
  for (const auto& [table, key] : held_) {
    if (const auto* item = table->list.find(key))
      add(item->log_end);
  }
  return out;
}

void engine::state::bound_map() {
  std::size_t bytes = 0;
  for (const auto& each : tables_)
    bytes += each->entries.empty() ? 0 : each->entries.bytes();
  if (bytes <= map_bytes_now_max_)
    return;
  // A mark that is out counts on the entries of its ranges.
  const auto is_allowed = wave_.at <= open_wave_state::stage::reading && wave_.keyless == nullptr;
  if (is_allowed && !failed_)
    begin_map_anew();
}

/// Memory is bounded by beginning anew: from here on every snapshot must have seen all that the
/// dropped entries knew.
void engine::state::begin_map_anew() {
  gate_.begin_anew();
  abandon_wave();
  std::size_t bytes = 0;
  for (const auto& each : tables_) {
    load_.begin_anew(*each);
    bytes += each->entries.bytes();
  }
  // What is left is of ranges that are done; once again as much must come before it pays again.
  map_bytes_now_max_ = std::max(options_.map_bytes_max, 2 * bytes);
  news_.push_back({.kind = news::what::ranges_void, .table = 0, .key = {}});
}

} // namespace cdc::engine
