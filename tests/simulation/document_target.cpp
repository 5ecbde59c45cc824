#include "tests/simulation/document_target.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/shapes.hpp"

namespace cdc::simulation {

// -- lives --------------------------------------------------------------------------------------

sink_state document_target::open() {
  listed_ = stored_.listed;
  return describe(stored_, ++epoch_, world_.tables);
}

void document_target::on_process_lost(std::uint8_t which) {
  // What it had sent is still on its way, or it never left.
  for (auto* each : ready()) {
    for (const auto& write : each->writes) {
      if (which % 2 == 1)
        late_.push_back(write);
      which = static_cast<std::uint8_t>(which / 2);
    }
  }
  batches_.clear();
  is_inside_ = false;
}

bool document_target::receive_late(std::uint8_t which) {
  if (late_.empty())
    return false;
  const auto at = late_.begin() + which % static_cast<std::ptrdiff_t>(late_.size());
  const auto arrived = *at;
  late_.erase(at);
  story_.say("target: a late request of a dead process arrives:");
  write(arrived);
  return true;
}

// A document that is deleted by hand leaves its version behind only as long as a tombstone does, so
// late requests and this are not to be had at once.
bool document_target::remove_by_hand(std::size_t table, std::size_t key) {
  auto& row = stored_.rows[table].rows[key];
  if (!row.is_there || !late_.empty())
    return false;
  row.is_there = false;
  exists_[table][key] = false;
  stored_.version[table][key] = 0;
  stored_.removed_by_hand[table][key] = true;
  story_.say("target: {} k{} is deleted by hand", table_name(table), key_text(key));
  return true;
}

// -- order --------------------------------------------------------------------------------------

bool document_target::share_rows(const row_write& a, const row_write& b) {
  if (a.table != b.table)
    return false;
  if (a.what == action::truncate || b.what == action::truncate)
    return true;
  const auto touches = [](const row_write& one, std::size_t key) {
    const auto has_old =
        one.what == action::remove || one.what == action::forget || one.what == action::move;
    const auto has_new = one.what != action::remove && one.what != action::forget;
    return (has_old && one.old.key == key) || (has_new && one.made.key == key);
  };
  for (std::size_t key = 0; key < keys_max; ++key) {
    if (touches(a, key) && touches(b, key))
      return true;
  }
  return false;
}

/// An operation starts when every earlier one on its rows is done.
std::vector<document_target::operation_under_way*> document_target::ready() {
  std::vector<operation_under_way*> out;
  std::vector<const row_write*> before;
  for (auto& batch : batches_) {
    for (std::size_t i = 0; i < batch.operations.size(); ++i) {
      if (batch.is_done[i])
        continue;
      auto& one = batch.operations[i];
      if (std::ranges::none_of(before,
                               [&](const auto* each) { return share_rows(*each, one.what); }))
        out.push_back(&one);
      before.push_back(&one.what);
    }
  }
  return out;
}

void document_target::take_batches() {
  for (auto& work : sent_) {
    auto& made = batches_.emplace_back();
    for (const auto& each : work->changes)
      made.operations.push_back({read(*work, each), false, {}, {}});
    made.is_done.assign(made.operations.size(), false);
    made.work = std::move(work);
  }
  sent_.clear();
}

bool document_target::work(std::uint8_t which) {
  take_batches();
  if (batches_.empty())
    return false;
  const auto can = ready();
  if (can.empty())
    return complete_batch();
  // Now and then the oldest batch is finished first, as it is when nothing else is under way.
  advance(*can[which / 2 % can.size()], which);
  complete_batch();
  return true;
}

bool document_target::complete_batch() {
  auto& oldest = batches_.front();
  if (std::ranges::find(oldest.is_done, false) != oldest.is_done.end())
    return false;
  write_report report;
  report.batch = oldest.work->number;
  for (const auto& each : oldest.operations) {
    change_list(each);
    if (each.found)
      report.answers.push_back({each.what.number, *each.found});
  }
  is_inside_ = !oldest.work->ends_transaction;
  const auto& work = *oldest.work;
  // One document, written by compare-and-set: a dead process's write of it finds that it has moved
  // on.
  const auto changes_state = work.reaches || !work.records.empty() || !work.listed.empty();
  if (changes_state || listed_ != stored_.listed) {
    write_state(work, stored_);
    for (const auto& each : work.listed)
      listed_[static_cast<std::size_t>(each.table.front() - 'A')][*key_of_form(each.key)] = true;
    stored_.listed = listed_;
    report.durable = stored_.reached->resume;
  }
  if (story_.told())
    tell(work, stored_);
  answers_.push_back(std::move(report));
  batches_.pop_front();
  return true;
}

// -- an operation -------------------------------------------------------------------------------

void document_target::advance(operation_under_way& one, std::uint8_t which) {
  if (!one.has_read) {
    one.has_read = true;
    read_then_plan(one);
  } else if (!one.writes.empty()) {
    const auto at = one.writes.begin() + which % static_cast<std::ptrdiff_t>(one.writes.size());
    const auto next = *at;
    one.writes.erase(at);
    write(next);
  }
  if (!one.writes.empty())
    return;
  for (auto& batch : batches_) {
    for (std::size_t i = 0; i < batch.operations.size(); ++i) {
      if (&batch.operations[i] == &one)
        batch.is_done[i] = true;
    }
  }
}

void document_target::read_then_plan(operation_under_way& one) {
  const auto& what = one.what;
  const auto put = [&](std::size_t key, const image* made) {
    row full;
    if (made != nullptr)
      full = {.is_there = true, .place = 0, .value = made->value};
    one.writes.push_back({what.table, key, full, what.version});
  };
  switch (what.what) {
    case action::upsert:
      return put(what.made.key, &what.made);
    case action::remove:
      return put(what.old.key, nullptr);
    case action::truncate:
      for (std::size_t key = 0; key < world_.keys; ++key)
        put(key, nullptr);
      return;
    case action::partial:
      return plan_partial(one);
    case action::move:
      return plan_move(one);
    case action::forget:
    case action::insert:
    case action::erase:
      return;
  }
}

void document_target::plan_partial(operation_under_way& one) {
  const auto& what = one.what;
  const auto key = what.made.key;
  const auto& there = stored_.rows[what.table].rows[key];
  one.found = there.is_there;
  if (!there.is_there) {
    one.writes.push_back({what.table, key, {}, what.version - 1});
    return;
  }
  if (stored_.version[what.table][key] >= what.version) {
    story_.say("target: … the document of version {} has this change",
               stored_.version[what.table][key]);
    return;
  }
  auto made = there;
  overlay(made, what.made);
  one.writes.push_back({what.table, key, made, what.version});
}

void document_target::plan_move(operation_under_way& one) {
  const auto& what = one.what;
  const auto& rows = stored_.rows[what.table].rows;
  const auto& version = stored_.version[what.table];
  const auto& base = rows[what.old.key];
  one.found = true;
  if (base.is_there && version[what.old.key] < what.version) {
    auto made = base;
    overlay(made, what.made);
    one.writes.push_back({what.table, what.made.key, made, what.version});
  } else if (!rows[what.made.key].is_there || version[what.made.key] < what.version) {
    one.found = false;
    one.writes.push_back({what.table, what.made.key, {}, what.version - 1});
  }
  one.writes.push_back({what.table, what.old.key, {}, what.version});
}

/// What the operation does to the list: when its batch is complete, since rows of a later batch may
/// be done before the list of this one is.
void document_target::change_list(const operation_under_way& one) {
  const auto& what = one.what;
  auto& listed = listed_[what.table];
  const auto is_asking = what.what == action::partial || what.what == action::move;
  if (what.what == action::truncate)
    listed = {};
  if (what.what == action::upsert)
    listed[what.made.key] = false;
  if (what.what == action::remove || what.what == action::forget || what.what == action::move)
    listed[what.old.key] = false;
  if (!is_asking || *one.found)
    return;
  if (what.keep_if_missing)
    listed[what.made.key] = true;
  story_.say("target: … finds no document{}", what.keep_if_missing ? ": listed" : "");
}

void document_target::write(const request& what) {
  auto& version = stored_.version[what.table][what.key];
  auto& exists = exists_[what.table][what.key];
  if (exists && what.version < version) {
    story_.say("target: {} k{} at version {} is refused, {} is there", table_name(what.table),
               key_text(what.key), what.version, version);
    return;
  }
  exists = true;
  version = what.version;
  stored_.rows[what.table].rows[what.key] = what.made;
  stored_.removed_by_hand[what.table][what.key] = false;
  if (story_.told())
    story_.say("target: {} k{} = {} at version {}", table_name(what.table), key_text(what.key),
               simulation::describe(what.made), what.version);
}

} // namespace cdc::simulation
