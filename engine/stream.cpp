// The log: blocks of transactions, one change after another.
#include <algorithm>
#include <utility>

#include "engine/engine_state.hpp"
#include "engine/row_merge.hpp"

namespace cdc::engine {

result<void> engine::state::stream(block_ptr next) {
  input_.push_back({std::move(next), 0});
  pump();
  return failure();
}

result<void> engine::state::provide(const relation_ptr& shape, target_table_ptr target) {
  tracked_table* table = nullptr;
  if (target) {
    const auto known = std::ranges::find_if(
        tables_, [&](const auto& each) { return each->target->name == target->name; });
    if (known == tables_.end())
      return fail(errc::source_unavailable,
                  "{} is new and has to be loaded: the pipeline starts again with it",
                  to_string(shape->table));
    table = known->get();
    if (table->is_keyless() != target->key.empty())
      return fail(errc::identity_missing, "{} {}: its target {} has to be loaded anew",
                  to_string(shape->table),
                  target->key.empty() ? "no longer has a key" : "has a key now", target->name);
  }
  routes_.add(shape, std::move(target), table);
  unknown_.reset();
  is_blocked_ = false;
  pump();
  return failure();
}

bool engine::state::can_run() const noexcept {
  return !failed_ && !is_paused_ && !is_blocked_ && !input_.empty();
}

bool engine::state::resolve(const block& rows, std::vector<route*>& out) {
  out.clear();
  for (const auto& shape : rows.relations) {
    out.push_back(routes_.find(shape));
    if (out.back() != nullptr)
      continue;
    if (!unknown_)
      unknown_ = shape;
    return false;
  }
  return true;
}

void engine::state::run_input() {
  if (!can_run())
    return;
  auto& in = input_.front();
  if (!resolve(*in.rows, routes_now_)) {
    is_blocked_ = true;
    return;
  }
  out_.enter(in.rows);
  if (auto done = run(in); !done) {
    failed_ = std::move(done.error());
    return;
  }
  if (in.next < in.rows->events.size())
    return;
  out_.leave(false);
  input_.pop_front();
}

/// Up to the end of the block, or to where the stream has to stand.
result<void> engine::state::run(stream_input& in) {
  const auto& rows = *in.rows;
  while (in.next < rows.events.size()) {
    const auto& what = rows.events[in.next++];
    switch (what.what) {
      case operation::begin:
        begin(rows.transactions[what.first]);
        break;
      case operation::commit:
        commit(rows.transactions[what.first]);
        if (work_is_due_)
          at_boundary();
        if (is_paused_)
          return {};
        break;
      case operation::advance:
        passed_ = std::max(passed_, rows.transactions[what.first].end);
        out_.advance(rows.transactions[what.first].end);
        break;
      case operation::insert:
      case operation::update:
      case operation::remove:
      case operation::truncate:
        if (auto done = change(what, *routes_now_[what.relation]); !done)
          return done;
        break;
      case operation::row:
        return fail(errc::invariant_broken, "a copied row came with the log");
    }
  }
  return {};
}

// A transaction's rows follow all those of the ones before it in the log, whatever their positions.
void engine::state::begin(const transaction& started) {
  passed_ = std::max(passed_, started.final);
  is_superseded_ = started.final < from_.resume;
  is_touched_ = !gate_.keeps();
  if (!is_superseded_)
    out_.begin(started);
}

void engine::state::commit(const transaction& ended) {
  passed_ = std::max(passed_, ended.end);
  if (std::exchange(is_superseded_, false))
    return;
  if (gate_.keeps())
    gate_.passed();
  out_.commit(ended);
}

result<void> engine::state::change(const event& what, route& to) {
  const auto is_row = what.what != operation::truncate;
  streamed_.read += is_row ? 1 : 0;
  if (is_superseded_) {
    streamed_.superseded += is_row ? 1 : 0;
    return {};
  }
  if (to.table == nullptr) {
    streamed_.filtered += is_row ? 1 : 0;
    return {};
  }
  if (!is_touched_) {
    is_touched_ = true;
    gate_.pass(out_.id());
  }
  out_.follow(what.what);
  if (to.table->is_quiet && !what.is_partial) [[likely]] {
    if (what.what == operation::insert ||
        (what.what == operation::update && what.before == before_image::none && !to.key.empty())) {
      out_.push(to.on_insert, to.to, change::none, what.first);
      out_.count_streamed();
      return {};
    }
  }
  return to.key.empty() ? change_keyless(what, to) : change_carefully(what, to);
}

result<void> engine::state::change_carefully(const event& what, route& to) {
  switch (what.what) {
    case operation::insert: {
      const row_images row{.before = change::none, .after = what.first, .is_own = false};
      if (lacks_key(to, row))
        return fail(errc::malformed_message, "an insert into {} came without its key",
                    to_string(to.shape->table));
      if (lacks_columns(what, to, row))
        load_.partial_insert(to, row);
      else
        load_.complete(to, row);
      break;
    }
    case operation::remove:
      if (!holds_key(to, what.before))
        return fail(errc::identity_missing,
                    "a row was deleted from {} whose key the log does not name: run ALTER TABLE "
                    "\"{}\".\"{}\" REPLICA IDENTITY FULL",
                    to_string(to.shape->table), to.shape->table.schema, to.shape->table.name);
      load_.remove(to, {.before = what.first, .after = change::none, .is_own = false});
      break;
    case operation::truncate:
      load_.truncate(to);
      return {};
    default:
      if (auto done = update(what, to); !done)
        return done;
  }
  out_.count_streamed();
  return {};
}

result<void> engine::state::update(const event& what, route& to) {
  row_images row{.before = change::none, .after = what.first, .is_own = false};
  if (what.before != before_image::none) {
    // Sent when a column of the identity changed. If that is not the key, the key may have changed
    // as well, and nothing says from what.
    if (!holds_key(to, what.before))
      return fail(errc::identity_missing,
                  "an update of {} does not say which row it changed, since its replica identity "
                  "does not hold the key: run ALTER TABLE \"{}\".\"{}\" REPLICA IDENTITY FULL",
                  to_string(to.shape->table), to.shape->table.schema, to.shape->table.name);
    row.before = what.first;
    row.after = what.first + to.columns;
    row = filled(what, to, row);
  }
  if (lacks_key(to, row))
    return fail(errc::malformed_message, "an update of {} came without its key",
                to_string(to.shape->table));
  const auto is_complete = !lacks_columns(what, to, row);
  if (is_moved(to, row))
    load_.move(to, row, is_complete);
  else if (is_complete)
    load_.complete(to, row);
  else
    load_.partial(to, row);
  return {};
}

// One of the rows that equal the old image goes, and the new one comes: a multiset has no updates.
result<void> engine::state::change_keyless(const event& what, route& to) {
  const auto is_row = what.what != operation::truncate;
  if (to.to.table->append_only &&
      (what.what == operation::update || what.what == operation::remove))
    return fail(errc::source_misconfigured,
                "{} is append_only, but a row of it was {}: its section needs a key",
                to_string(to.shape->table), what.what == operation::update ? "updated" : "deleted");
  const auto is_applied = rule_.keyless_by_membership
                              ? to.table->keyless.takes(out_.id())
                              : to.table->keyless.at == keyless_load::stage::loaded &&
                                    passed_ > to.table->keyless.until;
  if (!is_applied) {
    streamed_.filtered += is_row ? 1 : 0;
    return {};
  }
  if (what.what == operation::truncate) {
    out_.push(action::truncate, to.to, change::none, change::none);
    return {};
  }
  if (what.what != operation::insert && what.before != before_image::full)
    return fail(errc::identity_missing,
                "{} has no key, and a change of it came without the whole old row: run ALTER TABLE "
                "\"{}\".\"{}\" REPLICA IDENTITY FULL",
                to_string(to.shape->table), to.shape->table.schema, to.shape->table.name);
  if (what.what == operation::insert) {
    out_.push(action::insert, to.to, change::none, what.first);
  } else if (what.what == operation::remove) {
    out_.push(action::erase, to.to, what.first, change::none);
  } else {
    const auto row =
        filled(what, to, {.before = what.first, .after = what.first + to.columns, .is_own = false});
    const auto push = row.is_own ? &batcher::push_own : &batcher::push;
    (out_.*push)(action::erase, to.to, row.before, change::none, false);
    (out_.*push)(action::insert, to.to, change::none, row.after, false);
  }
  out_.count_streamed();
  return {};
}

// -- images -------------------------------------------------------------------------------------

const block& engine::state::rows_of(row_images row) const {
  return row.is_own ? out_.own() : out_.current();
}

bool engine::state::lacks_columns(const event& what, const route& of, row_images row) const {
  const auto& cells = rows_of(row).cells;
  return what.is_partial && std::ranges::any_of(of.used, [&](std::uint16_t column) {
           return cells[row.after + column].is_absent();
         });
}

bool engine::state::lacks_key(const route& of, row_images row) const {
  const auto& cells = rows_of(row).cells;
  return !std::ranges::all_of(
      of.key, [&](std::uint16_t column) { return cells[row.after + column].has_value(); });
}

bool engine::state::is_moved(const route& of, row_images row) const {
  if (row.before == change::none)
    return false;
  const auto& rows = rows_of(row);
  return std::ranges::any_of(of.key, [&](std::uint16_t column) {
    const auto& old = rows.cells[row.before + column];
    return !old.has_value() || rows.text(old) != rows.text(rows.cells[row.after + column]);
  });
}

/// The images of an update with what the old one can add to the new one. A long key is stored apart
/// and may be said to be unchanged: then it is in the old image.
row_images engine::state::filled(const event& what, const route& of, row_images row) {
  if (!what.is_partial)
    return row;
  const auto is_enough = what.before == before_image::key && !lacks_key(of, row);
  if (is_enough)
    return row;
  auto& own = out_.own_block();
  const auto first = append_filled(own, out_.current(), of, row.before, row.after, what.before);
  return {.before = first, .after = first + of.columns, .is_own = true};
}

} // namespace cdc::engine
