#include "tests/simulation/source.hpp"

#include <algorithm>
#include <utility>

namespace cdc::simulation {

namespace {

using phase = source_transaction::phase;
using what = row_change::what;

void apply_keyless(const row_change& change, bag& to) {
  if (change.kind == what::insert || change.kind == what::update)
    ++to[change.to][change.tail];
  if (change.kind == what::remove || change.kind == what::update)
    --to[change.key][change.tail];
}

} // namespace

void apply(const row_change& change, contents& to) {
  auto& table = to[change.table];
  const auto put = [&](std::size_t key) {
    table.rows[key] = {.is_there = true, .place = change.place, .value = change.value};
  };
  if (change.is_keyless && change.kind != what::truncate)
    return apply_keyless(change, table.bags);
  switch (change.kind) {
    case what::truncate:
      table = {};
      return;
    case what::insert:
    case what::update:
      put(change.key);
      return;
    case what::remove:
      table.rows[change.key].is_there = false;
      return;
    case what::move:
      table.rows[change.key].is_there = false;
      put(change.to);
      return;
  }
}

source::source(const options& world, story& told) : world_(world), story_(told) {
  // Old transactions of before: a snapshot's xmax has something below it.
  next_xid_ = world.wraps ? (std::uint64_t{1} << 32) - 4 : 700;
  last_ended_ = next_xid_ - 1;
  for (auto& table : locks_)
    table.fill(nobody);
  for (std::size_t table = 0; table < world.tables; ++table) {
    shapes_[table] = make_relation(world, table, 1);
    for (std::size_t key = 0; key < world.keys; ++key) {
      if ((world.first_rows[table] >> key & 1) == 0)
        continue;
      if (world.kinds[table] == table_kind::keyless) {
        ++visible_[table].bags[key % bag_values][key / 2 % bag_tails];
        continue;
      }
      auto& made = visible_[table].rows[key];
      made.is_there = true;
      made.place = static_cast<std::uint8_t>(key % world.ranges);
      for (auto& value : made.value)
        value = ++last_value_;
    }
  }
  after_.push_back(visible_);
}

// -- clients ------------------------------------------------------------------------------------

row source::current(std::size_t table, std::size_t key, const source_transaction& own) const {
  auto found = visible_[table].rows[key];
  for (const auto& each : own.changes) {
    if (each.table != table)
      continue;
    if (each.kind == what::truncate || each.key == key)
      found.is_there = each.kind == what::insert || each.kind == what::update;
    const auto written = each.kind == what::move ? each.to : each.key;
    if (written == key && each.kind != what::remove && each.kind != what::truncate)
      found = {.is_there = true, .place = each.place, .value = each.value};
  }
  return found;
}

bool source::is_free(std::size_t table, std::size_t key, std::size_t for_whom) const {
  return locks_[table][key] == nobody || locks_[table][key] == for_whom;
}

bool source::begin(const arguments& from) {
  if (transactions_.size() >= std::min<std::size_t>(world_.transactions, transactions_max))
    return false;
  const auto id = transactions_.size();
  auto& made = transactions_.emplace_back();
  const auto wanted = from[0] % 8 < 4 ? 1 : from[0] % 8 < 7 ? 2 : 3;
  for (int i = 0; i < wanted; ++i) {
    const auto* bytes = from.data() + 1 + 3 * i;
    const auto table = static_cast<std::size_t>(bytes[2] >> 5) % world_.tables;
    if (bytes[0] >= 248)
      static_cast<void>(add_truncate(made, table));
    else if (made.truncates[table] || !is_shut(table))
      static_cast<void>(world_.kinds[table] == table_kind::keyless ? add_keyless(made, table, bytes)
                                                                   : add_keyed(made, table, bytes));
  }
  if (made.changes.empty()) {
    transactions_.pop_back();
    return false;
  }
  made.xid = next_xid_++;
  if (story_.told()) {
    std::string all;
    for (const auto& each : made.changes)
      all += (all.empty() ? "" : "; ") + describe(each);
    story_.say("source: {} starts: {}", name(id), all);
  }
  return true;
}

bool source::add_truncate(source_transaction& to, std::size_t table) {
  const auto id = transactions_.size() - 1;
  const auto others = std::ranges::any_of(transactions_, [&](const auto& each) {
    return &each != &to && (each.now == phase::running || each.now == phase::logged) &&
           std::ranges::any_of(each.changes, [&](const auto& c) { return c.table == table; });
  });
  if (others || held_[table] > 0)
    return false;
  to.changes.push_back({.kind = what::truncate, .table = static_cast<std::uint8_t>(table)});
  to.truncates[table] = true;
  to.plus[table] = {};
  locks_[table].fill(id);
  return true;
}

bool source::add_keyless(source_transaction& to, std::size_t table, const std::uint8_t* from) {
  row_change made{.table = static_cast<std::uint8_t>(table), .is_keyless = true};
  made.key = static_cast<std::uint8_t>(from[1] % bag_values);
  made.to = static_cast<std::uint8_t>(from[1] / bag_values % bag_values);
  made.tail = static_cast<std::uint8_t>(from[2] % bag_tails);
  auto& pending = pending_[table][made.key][made.tail];
  auto& own = to.plus[table][made.key][made.tail];
  const auto visible =
      to.truncates[table] ? 0 : visible_[table].bags[made.key][made.tail] - pending;
  if (from[0] % 8 >= 3 && (visible > 0 || own > 0)) {
    made.kind = from[0] % 8 < 6 ? what::remove : what::update;
    // A large value that did not change is not in the new image; the old one always has it.
    made.present = from[0] % 16 < 8 ? 1 : 0;
    made.takes_visible = visible > 0;
    if (made.takes_visible)
      ++pending;
    else
      --own;
  } else {
    made.kind = what::insert;
    made.to = made.key;
  }
  if (made.kind != what::remove)
    ++to.plus[table][made.to][made.tail];
  to.changes.push_back(made);
  return true;
}

bool source::add_keyed(source_transaction& to, std::size_t table, const std::uint8_t* from) {
  const auto id = transactions_.size() - 1;
  const auto key = static_cast<std::size_t>(from[1] % world_.keys);
  if (!is_free(table, key, id))
    return false;
  const auto before = current(table, key, to);
  row_change made{.table = static_cast<std::uint8_t>(table), .key = static_cast<std::uint8_t>(key)};
  made.place = static_cast<std::uint8_t>(from[2] % world_.ranges);
  made.old = made.value = before.value;
  const auto changed = before.is_there ? choose_update(made, to, from) : choose_insert(made, from);
  for (std::size_t i = 0; i < values; ++i) {
    if (changed >> i & 1)
      made.value[i] = ++last_value_;
  }
  locks_[table][key] = id;
  if (made.kind == what::move)
    locks_[table][made.to] = id;
  to.changes.push_back(made);
  return true;
}

unsigned source::choose_insert(row_change& made, const std::uint8_t* from) const {
  // Of a new row, too, a log may leave out what the table's defaults say.
  if (world_.any_column_absent && from[2] % 8 == 6)
    made.present = from[0] % 8;
  return 7;
}

unsigned source::choose_update(row_change& made, const source_transaction& own,
                               const std::uint8_t* from) const {
  static constexpr std::array<std::uint8_t, 16> columns{1, 2, 4, 7, 0, 0, 2, 7,
                                                        0, 1, 1, 2, 3, 1, 1, 1};
  const auto kind = from[0] % 16;
  if (kind == 4 || kind == 5) {
    made.kind = what::remove;
    return 0;
  }
  made.kind = what::update;
  if (kind >= 6 && kind <= 10)
    choose_move(made, own, from[2]);
  // A small column is always in the log, a large one at times although it did not change.
  const auto changed = columns[static_cast<std::size_t>(kind)];
  made.present = static_cast<std::uint8_t>(changed | (world_.any_column_absent ? 0u : 1u) |
                                           (from[2] % 8 == 7 ? 6u : 0u));
  return changed;
}

void source::choose_move(row_change& made, const source_transaction& own,
                         std::uint8_t which) const {
  for (std::size_t i = 1; i < world_.keys; ++i) {
    const auto to = (made.key + i + which) % world_.keys;
    if (to == made.key || !is_free(made.table, to, transactions_.size() - 1) ||
        current(made.table, to, own).is_there)
      continue;
    made.kind = what::move;
    made.to = static_cast<std::uint8_t>(to);
    return;
  }
}

std::optional<std::size_t> source::pick(std::uint8_t which, phase now) const {
  std::array<std::size_t, transactions_max> found{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < transactions_.size(); ++i) {
    if (transactions_[i].now == now)
      found[count++] = i;
  }
  if (count == 0)
    return std::nullopt;
  return found[which % count];
}

bool source::log(std::uint8_t which, bool show_at_once) {
  const auto id = pick(which, phase::running);
  if (!id)
    return false;
  auto& done = transactions_[*id];
  done.now = phase::logged;
  done.logged_at = log_.size();
  log_.push_back({*id, {end_.token + 8}, {end_.token + 16}});
  end_ = log_.back().end;
  after_.push_back(after_.back());
  for (const auto& each : done.changes)
    apply(each, after_.back());
  story_.say("source: {} is logged at {}{}", name(*id), log_.back().final.token,
             show_at_once ? "" : ", not visible yet");
  if (show_at_once)
    end(*id, phase::visible);
  return true;
}

bool source::show(std::uint8_t which) {
  const auto id = pick(which, phase::logged);
  if (id)
    end(*id, phase::visible);
  return id.has_value();
}

bool source::abort(std::uint8_t which) {
  const auto id = pick(which, phase::running);
  if (id)
    end(*id, phase::aborted);
  return id.has_value();
}

void source::end(std::size_t transaction, phase as) {
  auto& done = transactions_[transaction];
  done.now = as;
  last_ended_ = std::max(last_ended_, done.xid);
  for (auto& table : locks_)
    std::ranges::replace(table, transaction, nobody);
  for (const auto& each : done.changes) {
    if (each.takes_visible)
      --pending_[each.table][each.key][each.tail];
    if (as != phase::visible)
      continue;
    apply(each, visible_);
    if (each.kind == what::truncate) {
      ++truncations_[each.table];
      truncated_at_[each.table] = log_[done.logged_at].end;
    }
  }
  story_.say("source: {} {}", name(transaction),
             as == phase::visible ? "becomes visible" : "is rolled back");
}

void source::move_log() {
  end_.token += 16;
}

void source::reshape(std::size_t table) {
  shapes_[table] = make_relation(world_, table, shapes_[table]->generation + 1);
  story_.say("source: table {} gets shape {}", table_name(table), shapes_[table]->generation);
}

} // namespace cdc::simulation
