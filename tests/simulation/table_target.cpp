#include "tests/simulation/table_target.hpp"

#include <utility>

#include "tests/simulation/shapes.hpp"

namespace cdc::simulation {

namespace {

constexpr std::size_t dead_max = 4;

} // namespace

// -- sessions -----------------------------------------------------------------------------------

sink_state table_target::open() {
  durable_ = committed_;
  session_ = {++epoch_, committed_.reached};
  return describe(committed_, epoch_, world_.tables);
}

void table_target::on_process_lost(std::uint8_t) {
  for (const auto& each : sent_)
    dead_.emplace_back(session_, each);
  if (dead_.size() > dead_max)
    dead_.erase(dead_.begin(), dead_.end() - dead_max);
  is_open_ = false;
}

bool table_target::receive_late(std::uint8_t which) {
  if (dead_.empty() || is_open_)
    return false;
  const auto at = dead_.begin() + which % static_cast<std::ptrdiff_t>(dead_.size());
  auto [by, work] = std::move(*at);
  dead_.erase(at);
  if (write(*work, by))
    complain("a batch of a dead session is taken");
  return true;
}

bool table_target::remove_by_hand(std::size_t table, std::size_t key) {
  auto& found = committed_.rows[table].rows[key];
  if (is_open_ || !found.is_there)
    return false;
  found.is_there = false;
  committed_.removed_by_hand[table][key] = true;
  story_.say("target: {} k{} is deleted by hand", table_name(table), key_text(key));
  return true;
}

// -- a batch ------------------------------------------------------------------------------------

bool table_target::work(std::uint8_t) {
  if (sent_.empty())
    return false;
  const auto work = std::move(sent_.front());
  sent_.pop_front();
  auto written = write(*work, session_);
  if (written)
    answers_.push_back(std::move(*written));
  else
    complain("a batch of the session that lives is refused");
  return true;
}

std::optional<write_report> table_target::write(const batch& work, session& by) {
  if (by.epoch != epoch_ || by.reached != committed_.reached) {
    story_.say("target: batch {} is of a dead session: refused", work.number);
    return std::nullopt;
  }
  if (!is_open_)
    open_ = committed_;
  is_open_ = true;
  write_report report;
  report.batch = work.number;
  for (const auto& each : work.changes)
    write(read(work, each), report);
  if (!work.ends_transaction && (work.reaches || !work.records.empty() || !work.listed.empty()))
    complain("batch {} moves the checkpoint inside a transaction", work.number);
  if (work.ends_transaction)
    commit(work, by, report);
  else
    story_.say("target: batch {}: the transaction stays open", work.number);
  return report;
}

void table_target::commit(const batch& work, session& by, write_report& into) {
  write_state(work, open_);
  committed_ = open_;
  is_open_ = false;
  by.reached = committed_.reached;
  if (work.is_durable || !world_.is_relaxed) {
    durable_ = committed_;
    if (committed_.reached)
      into.durable = committed_.reached->resume;
  }
  if (story_.told())
    tell(work, committed_);
}

// -- a change -----------------------------------------------------------------------------------

void table_target::write(const row_write& what, write_report& into) {
  if (what.what == action::truncate)
    truncate(what);
  else if (has_key(world_.kinds[what.table]))
    write_keyed(what, into);
  else
    write_keyless(what, into);
}

void table_target::truncate(const row_write& what) {
  open_.rows[what.table] = {};
  open_.listed[what.table] = {};
  open_.removed_by_hand[what.table] = {};
  for (std::size_t key = 0; key < keys_max; ++key)
    set_version(what.table, key, what.version);
}

void table_target::write_keyless(const row_write& what, write_report& into) {
  const auto& row = what.what == action::erase ? what.old : what.made;
  auto& count = open_.rows[what.table].bags[static_cast<std::size_t>(row.value[0]) % bag_values]
                                           [static_cast<std::size_t>(row.value[1]) % bag_tails];
  if (what.what == action::insert) {
    ++count;
  } else if (count > 0) {
    --count;
  } else {
    ++into.not_found;
    complain("erase of (v{} w{}) finds no row", row.value[0], row.value[1]);
  }
}

void table_target::write_keyed(const row_write& what, write_report& into) {
  auto& rows = open_.rows[what.table].rows;
  switch (what.what) {
    case action::upsert:
      return put(what.table, what.made, what.version);
    case action::remove:
      return remove(what.table, what.old.key, what.version);
    case action::forget:
      open_.listed[what.table][what.old.key] = false;
      return;
    case action::partial: {
      const auto found = rows[what.made.key].is_there;
      if (found)
        overlay(rows[what.made.key], what.made);
      set_version(what.table, what.made.key, found ? what.version : what.version - 1);
      return answer(what, found, into);
    }
    case action::move: {
      auto base = rows[what.old.key];
      remove(what.table, what.made.key, what.version - 1);
      remove(what.table, what.old.key, what.version);
      if (base.is_there) {
        overlay(base, what.made);
        rows[what.made.key] = base;
        set_version(what.table, what.made.key, what.version);
      }
      return answer(what, base.is_there, into);
    }
    case action::insert:
    case action::erase:
    case action::truncate:
      return;
  }
}

void table_target::put(std::size_t table, const image& what, std::uint64_t version) {
  open_.rows[table].rows[what.key] = {.is_there = true, .place = 0, .value = what.value};
  open_.listed[table][what.key] = false;
  open_.removed_by_hand[table][what.key] = false;
  set_version(table, what.key, version);
}

void table_target::remove(std::size_t table, std::size_t key, std::uint64_t version) {
  open_.rows[table].rows[key].is_there = false;
  open_.listed[table][key] = false;
  open_.removed_by_hand[table][key] = false;
  set_version(table, key, version);
}

void table_target::answer(const row_write& what, bool found, write_report& into) {
  into.answers.push_back({what.number, found});
  if (found)
    return;
  open_.removed_by_hand[what.table][what.made.key] = false;
  if (what.keep_if_missing)
    open_.listed[what.table][what.made.key] = true;
  story_.say("target: … finds no row{}", what.keep_if_missing ? ": listed" : "");
}

// A target with versions would refuse what is older than what it has; no table may come to that.
void table_target::set_version(std::size_t table, std::size_t key, std::uint64_t version) {
  auto& stored = open_.version[table][key];
  if (version < stored)
    complain("{} k{} at version {} is older than what is there ({})", table_name(table),
             key_text(key), version, stored);
  stored = version;
}

} // namespace cdc::simulation
