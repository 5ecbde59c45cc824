#include "engine/load_rule.hpp"

#include <algorithm>
#include <utility>

#include "engine/row_merge.hpp"
#include "messages/row_key.hpp"

namespace cdc::engine {

namespace {

row_images only_before(row_images row) {
  row.after = change::none;
  return row;
}

row_images only_after(row_images row) {
  row.before = change::none;
  return row;
}

} // namespace

// -- the stream ---------------------------------------------------------------------------------

void load_rule::complete(route& to, row_images row) {
  push(action::upsert, to, row);
  auto& table = *to.table;
  if (table.is_quiet)
    return;
  encode(to, row, row.after, key_);
  settle(table, key_, entry_state::whole);
}

void load_rule::remove(route& to, row_images row) {
  push(action::remove, to, only_before(row));
  auto& table = *to.table;
  if (table.is_quiet)
    return;
  encode(to, row, row.before, key_);
  settle(table, key_, entry_state::gone);
}

void load_rule::truncate(route& to) {
  push(action::truncate, to, {});
  auto& table = *to.table;
  if (table.is_quiet || !rule_.truncate_leaves_gone)
    return;
  table.list.leave_all(out_.last_number());
  table.entries.clear();
  table.all_gone = {.is_on = true, .last = out_.id(), .number = out_.last_number()};
}

void load_rule::partial(route& to, row_images row) {
  auto& table = *to.table;
  encode(to, row, row.after, key_);
  push(action::partial, to, only_after(row), keeps_if_missing(table, key_));
  auto* known = table.entries.find(key_);
  if (known != nullptr && known->state == entry_state::whole) {
    known->last = out_.id();
    known->number = out_.last_number();
    known->is_kept = keeps_if_missing(table, key_);
    return;
  }
  const auto goes_on = known != nullptr && known->state == entry_state::partial;
  auto& to_add = goes_on ? *known : begin_partial(table, key_, false);
  add_cells(table, to_add, to, row);
}

void load_rule::move(route& to, row_images row, bool is_complete) {
  if (is_complete) {
    remove(to, row);
    complete(to, only_after(row));
    return;
  }
  auto& table = *to.table;
  encode(to, row, row.before, other_key_);
  encode(to, row, row.after, key_);
  push(action::move, to, row, keeps_if_missing(table, key_));
  settle(table, other_key_, entry_state::gone);
  add_cells(table, begin_partial(table, key_, true), to, row);
  table.list.void_removal(key_);
}

// A move without a base: whatever the target has under this key is not this row.
void load_rule::partial_insert(route& to, row_images row) {
  auto& table = *to.table;
  encode(to, row, row.after, key_);
  push(action::remove, to, {.before = row.after, .after = change::none, .is_own = row.is_own});
  push(action::partial, to, only_after(row), keeps_if_missing(table, key_));
  add_cells(table, begin_partial(table, key_, true), to, row);
  table.list.void_removal(key_);
}

// -- the sink's answers -------------------------------------------------------------------------

void load_rule::found(tracked_table& table, std::string_view key, std::uint64_t number) {
  auto* known = table.entries.find(key);
  if (known == nullptr || known->state != entry_state::partial || number < known->asked)
    return;
  set_whole(table, *known, known->number);
  table.list.leave(key, known->number);
}

void load_rule::missing(tracked_table& table, std::string_view key, std::uint64_t number) {
  auto* known = table.entries.find(key);
  if (known == nullptr)
    return;
  if (known->state == entry_state::whole && number >= known->number) {
    // Deleted at the target by someone else. What the stream supplied is not known any more, so a
    // row must have seen it to be of use.
    known->become(entry_state::partial, known->last, known->number);
    known->is_born = true;
    table.entries.set_cells(*known, {});
  } else if (known->state != entry_state::partial || number < known->asked) {
    return;
  }
  known->is_missing = true;
  if (table.ranges.is_closed(known->range))
    table.list.add(key);
}

// -- copied rows --------------------------------------------------------------------------------

copy_fate load_rule::copied(route& to, std::uint32_t row, const snapshot& seen) {
  auto& table = *to.table;
  const auto is_untouched = table.entries.empty() && !table.all_gone.is_on && table.list.empty();
  if (!is_untouched) {
    encode(to, {}, row, key_);
    auto* known = table.entries.find(key_);
    if (known == nullptr && is_gone_with_all(table, key_))
      return copy_fate::dropped;
    if (known != nullptr) {
      const auto is_older = known->is_born && !seen.is_sure_of(known->first);
      if (known->state != entry_state::partial || is_older)
        return copy_fate::dropped;
      return merge(to, row, *known);
    }
  }
  out_.push_copy(action::upsert, to.to, change::none, row, out_.copy_version());
  if (!is_untouched)
    table.list.leave(key_, out_.last_number());
  return copy_fate::written;
}

copy_fate load_rule::merge(route& to, std::uint32_t row, entry& with) {
  auto& table = *to.table;
  const auto version = rule_.merged_version_is_highest ? std::max(out_.copy_version(), with.version)
                                                       : out_.copy_version();
  const auto& cells = with.cells;
  if (cells.empty()) {
    out_.push_copy(action::upsert, to.to, change::none, row, version);
  } else {
    const auto first = append_merged(out_.own_block(), out_.current(), row, to, cells);
    out_.push_own_copy(action::upsert, to.to, change::none, first, version);
    if (has_later_columns(cells, *to.shape)) {
      const auto rest = append_later_columns(out_.own_block(), cells, *to.shape);
      out_.push_own_copy(action::partial, cells.shape().to, change::none, rest, version);
    }
  }
  set_whole(table, with, out_.last_number());
  table.list.leave(key_, out_.last_number());
  return copy_fate::merged;
}

bool load_rule::is_too_old(tracked_table& table, std::string_view key, const snapshot& seen) {
  const auto* known = table.entries.find(key);
  return rule_.refetch_sees_first && known != nullptr && known->state == entry_state::partial &&
         !seen.is_sure_of(known->first);
}

bool load_rule::refetched(tracked_table& table, route& to, const std::string& key,
                          const snapshot& seen) {
  const auto* item = table.list.find(key);
  if (item == nullptr || !item->is_open())
    return false;
  if (is_too_old(table, key, seen))
    return true;
  // The source has no such row any more.
  const auto first = append_key(out_.own_block(), to, key);
  out_.push_own_copy(action::forget, to.to, first, change::none, out_.copy_version());
  table.list.leave(key, out_.last_number());
  if (auto* known = table.entries.find(key))
    table.entries.remove(*known);
  return false;
}

void load_rule::close_list(tracked_table& table, std::uint32_t range) {
  table.entries.for_each([&](const entry& each, std::string_view key) {
    const auto is_of_range = each.range == range || each.range == key_space::any;
    if (is_of_range && each.state == entry_state::partial && each.is_missing)
      table.list.add(key);
  });
}

bool load_rule::is_to_record(tracked_table& table, std::string_view key,
                             std::uint64_t acknowledged) const {
  const auto* item = table.list.find(key);
  if (item == nullptr || !item->is_open())
    return false;
  const auto* known = table.entries.find(key);
  return known == nullptr || !known->is_kept || known->number <= acknowledged;
}

// -- what is remembered -------------------------------------------------------------------------

void load_rule::settle(tracked_table& table, std::string_view key, entry_state state) {
  const auto is_read = table.list.find(key) != nullptr;
  table.list.leave(key, out_.last_number());
  auto* known = table.entries.find(key);
  if (known == nullptr) {
    const auto range = table.ranges.range_of(key);
    if (!is_read && !table.ranges.is_left(range) && !is_gone_with_all(table, key))
      return;
    known = &table.entries.add(key);
    known->range = range;
    table.is_quiet = false;
  }
  table.entries.set_cells(*known, {});
  known->become(state, out_.id(), out_.last_number());
}

bool load_rule::is_gone_with_all(const tracked_table& table, std::string_view key) const {
  const auto& all = table.all_gone;
  return all.is_on && (!all.only_closed || table.ranges.is_closed(table.ranges.range_of(key)));
}

entry& load_rule::begin_partial(tracked_table& table, std::string_view key, bool is_born) {
  auto& out = table.entries.add(key);
  out.range = table.ranges.range_of(key);
  out.become(entry_state::partial, out_.id(), out_.last_number());
  out.is_born = is_born && rule_.moved_row_takes_nothing_older;
  table.entries.set_cells(out, {});
  table.is_quiet = false;
  return out;
}

void load_rule::add_cells(tracked_table& table, entry& to, route& from, const row_images& row) {
  const auto keeps_older = rule_.entry_accumulates_cells || to.last == out_.id();
  const supplied_cells none;
  table.entries.set_cells(to, {keeps_older ? to.cells : none, from, rows_of(row), row.after});
  to.last = out_.id();
  to.number = out_.last_number();
  to.version = out_.last_version();
  to.is_kept = keeps_if_missing(table, table.entries.key_of(to));
}

void load_rule::set_whole(tracked_table& table, entry& of, std::uint64_t number) {
  table.entries.set_cells(of, {});
  of.become(entry_state::whole, of.last, number);
}

void load_rule::sweep(tracked_table& table, std::uint64_t acknowledged) {
  table.entries.for_each([&](entry& each, std::string_view key) {
    if (may_leave(table, each, key, acknowledged))
      table.entries.remove(each);
  });
  table.entries.tidy();
  table.swept_to = table.entries.size();
  if (table.all_gone.is_on && all_gone_may_leave(table, acknowledged))
    table.all_gone = {};
  table.settle();
}

bool load_rule::may_leave(tracked_table& table, const entry& which, std::string_view key,
                          std::uint64_t acknowledged) const {
  if (rule_.entry_waits_for_answers && which.number > acknowledged)
    return false;
  if (const auto* item = table.list.find(key)) {
    if (item->is_open() && rule_.entry_waits_for_answers)
      return false;
    if (item->at == refetch::stage::asked && rule_.range_open_before_snapshot)
      return false;
    if (item->at == refetch::stage::held && !item->seen.is_sure_of(which.last))
      return false;
  }
  return table.ranges.let_go(which.range, which.state, which.last, proofs_);
}

bool load_rule::all_gone_may_leave(tracked_table& table, std::uint64_t acknowledged) const {
  const auto& all = table.all_gone;
  if (rule_.entry_waits_for_answers && all.number > acknowledged)
    return false;
  auto is_read = false;
  table.list.for_each([&](const std::string&, const refetch& item) {
    is_read = is_read || item.is_open() || item.at == refetch::stage::asked ||
              (item.at == refetch::stage::held && !item.seen.is_sure_of(all.last));
  });
  return !is_read && table.ranges.let_go(key_space::any, entry_state::gone, all.last, proofs_);
}

void load_rule::begin_anew(tracked_table& table) {
  table.entries.for_each([&](entry& each, std::string_view key) {
    if (!table.ranges.is_closed(each.range) && table.list.find(key) == nullptr)
      table.entries.remove(each);
  });
  table.entries.tidy();
  table.swept_to = table.entries.size();
  table.all_gone.only_closed = true;
  table.ranges.begin_anew();
  table.settle();
}

void load_rule::planned(tracked_table& table) {
  table.entries.for_each(
      [&](entry& each, std::string_view key) { each.range = table.ranges.range_of(key); });
}

// -- changes ------------------------------------------------------------------------------------

const block& load_rule::rows_of(const row_images& row) const {
  return row.is_own ? out_.own() : out_.current();
}

void load_rule::encode(const route& to, const row_images& row, std::uint32_t image,
                       std::string& out) const {
  const auto& from = rows_of(row);
  encode_key(from, std::span{from.cells}.subspan(image, to.columns), to.key, out);
}

void load_rule::push(action what, route& to, const row_images& row, bool keep_if_missing) {
  if (row.is_own)
    out_.push_own(what, to.to, row.before, row.after, keep_if_missing);
  else
    out_.push(what, to.to, row.before, row.after, keep_if_missing);
}

bool load_rule::keeps_if_missing(const tracked_table& table, std::string_view key) const {
  return rule_.list_is_durable &&
         (table.ranges.all_closed() || table.ranges.is_closed(table.ranges.range_of(key)));
}

} // namespace cdc::engine
