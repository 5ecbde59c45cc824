#include "tests/simulation/target.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tests/simulation/shapes.hpp"

namespace cdc::simulation {

namespace {

std::size_t number_of(const target_table& table) {
  return static_cast<std::size_t>(table.name.front() - 'A');
}

std::string_view name_of(action what) {
  static constexpr std::array<std::string_view, 8> names{"upsert", "remove", "partial",  "move",
                                                         "insert", "erase",  "truncate", "forget"};
  return names[static_cast<std::size_t>(what)];
}

} // namespace

template <class... Args>
void target::complain(fmt::format_string<Args...> format, Args&&... args) {
  if (complaint_.empty())
    complaint_ = "target: " + fmt::format(format, std::forward<Args>(args)...);
}

// -- sessions -----------------------------------------------------------------------------------

sink_state target::open() {
  roll_back();
  durable_ = committed_;
  sink_state out;
  out.epoch = ++epoch_;
  out.resume = committed_.reached;
  for (const auto& [name, value] : committed_.records)
    out.records.emplace_back(name, value);
  for (std::size_t table = 0; table < world_.tables; ++table) {
    for (std::size_t key = 0; key < keys_max; ++key) {
      if (committed_.listed[table][key])
        out.refetch.push_back({table_name(table), key_form(key)});
    }
  }
  return out;
}

void target::roll_back() {
  is_open_ = false;
}

void target::lose_power() {
  roll_back();
  committed_ = durable_;
}

bool target::remove_by_hand(std::size_t table, std::size_t key) {
  auto& found = committed_.rows[table].rows[key];
  if (is_open_ || !found.is_there)
    return false;
  found.is_there = false;
  committed_.removed_by_hand[table][key] = true;
  story_.say("target: {} k{} is deleted by hand", table_name(table), key_text(key));
  return true;
}

// -- a batch ------------------------------------------------------------------------------------

std::optional<write_report> target::apply(const batch& work, session& by) {
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
    apply(work, each, report);
  if (!work.ends_transaction && (work.reaches || !work.records.empty() || !work.listed.empty()))
    complain("batch {} moves the checkpoint inside a transaction", work.number);
  if (work.ends_transaction)
    commit(work, by, report);
  else
    story_.say("target: batch {}: the transaction stays open", work.number);
  return report;
}

void target::commit(const batch& work, session& by, write_report& into) {
  for (const auto& each : work.records) {
    if (each.value)
      open_.records[each.name] = *each.value;
    else
      open_.records.erase(each.name);
  }
  for (const auto& each : work.listed) {
    const auto key = key_of_form(each.key);
    if (!key || each.table.size() != 1)
      return complain("batch {} lists a key that does not exist", work.number);
    open_.listed[static_cast<std::size_t>(each.table.front() - 'A')][*key] = true;
  }
  if (work.reaches) {
    if (committed_.reached && work.reaches->resume < committed_.reached->resume)
      complain("batch {} moves the checkpoint back", work.number);
    open_.reached = work.reaches;
  }
  if (!open_.reached)
    complain("batch {} writes before there is a checkpoint", work.number);
  committed_ = open_;
  is_open_ = false;
  by.reached = committed_.reached;
  into.not_found = committed_.not_found;
  if (work.is_durable || !world_.is_relaxed) {
    durable_ = committed_;
    if (committed_.reached)
      into.durable = committed_.reached->resume;
  }
  if (!story_.told())
    return;
  std::string all;
  for (std::size_t table = 0; table < world_.tables; ++table) {
    if (world_.kinds[table] == table_kind::ignored)
      continue;
    all += fmt::format("; {}:", table_name(table));
    if (world_.kinds[table] == table_kind::keyless) {
      all += " " + describe(committed_.rows[table].bags);
      continue;
    }
    for (std::size_t key = 0; key < world_.keys; ++key)
      all += fmt::format(" k{}={}{}", key_text(key), describe(committed_.rows[table].rows[key]),
                         committed_.listed[table][key] ? " listed" : "");
  }
  story_.say("target: batch {} commits{}; checkpoint {}{}", work.number,
             work.is_durable ? " durably" : "",
             committed_.reached ? committed_.reached->resume.token : 0, all);
  for (const auto& each : work.records) {
    auto value = each.value.value_or("(removed)");
    std::ranges::replace(value, '\n', ' ');
    story_.say("target: … with record {} = {}", each.name, value);
  }
}

// -- a change -----------------------------------------------------------------------------------

target::image target::read(const batch& work, const change& what, std::uint32_t first) {
  image out;
  const auto& table = *work.tables[what.table];
  if (what.block >= work.blocks.size() ||
      first + table.source->columns.size() > work.blocks[what.block]->cells.size()) {
    complain("{} points outside of batch {}", name_of(what.what), work.number);
    return out;
  }
  const auto& from = *work.blocks[what.block];
  const auto cells = from.image(first, *table.source);
  const auto number = [&](cell at) {
    const auto text = from.text(at);
    int value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
      complain("{} carries something that no row held", name_of(what.what));
    return value;
  };
  if (table.key.empty()) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!cells[i].has_value())
        complain("{} of a keyless row without all its columns", name_of(what.what));
      else
        out.value[i] = number(cells[i]);
    }
    return out;
  }
  if (!cells[0].has_value())
    complain("{} without a key", name_of(what.what));
  else
    out.key = key_of_text(from.text(cells[0])).value_or(0);
  for (std::size_t i = 0; i < values; ++i) {
    if (!cells[i + 1].has_value())
      continue;
    out.present |= 1u << i;
    out.value[i] = number(cells[i + 1]);
  }
  return out;
}

void target::apply(const batch& work, const change& what, write_report& into) {
  const auto table = number_of(*work.tables[what.table]);
  if (what.what == action::truncate) {
    story_.say("target: truncate {}", table_name(table));
    open_.rows[table] = {};
    open_.listed[table] = {};
    open_.removed_by_hand[table] = {};
    for (std::size_t key = 0; key < keys_max; ++key)
      set_version(table, key, what.version);
    return;
  }
  if (work.tables[what.table]->key.empty())
    apply_keyless(work, what, table, into);
  else
    apply_keyed(work, what, table, into);
}

void target::apply_keyless(const batch& work, const change& what, std::size_t table,
                           write_report&) {
  const auto removes = what.what == action::erase;
  if (!removes && what.what != action::insert)
    return complain("{} on a keyless table", name_of(what.what));
  const auto made = read(work, what, removes ? what.before : what.after);
  auto& count =
      open_.rows[table]
          .bags[static_cast<std::size_t>(made.value[0])][static_cast<std::size_t>(made.value[1])];
  story_.say("target: {} {} (v{} w{})", name_of(what.what), table_name(table), made.value[0],
             made.value[1]);
  if (removes && count == 0) {
    ++open_.not_found;
    return complain("erase of (v{} w{}) in {} finds no row", made.value[0], made.value[1],
                    table_name(table));
  }
  count += removes ? -1 : 1;
}

void target::apply_keyed(const batch& work, const change& what, std::size_t table,
                         write_report& into) {
  image old;
  image made;
  if (what.before != change::none)
    old = read(work, what, what.before);
  if (what.after != change::none)
    made = read(work, what, what.after);
  if (story_.told())
    story_.say("target: {} {} {}{}{}", name_of(what.what), table_name(table),
               what.what == action::remove || what.what == action::forget ||
                       what.what == action::move
                   ? "k" + key_text(old.key) + " "
                   : "",
               what.after != change::none
                   ? "k" + key_text(made.key) + " " + describe(made.value, made.present)
                   : "",
               what.is_copy ? " copied" : "");
  switch (what.what) {
    case action::upsert:
      if (made.present != 7)
        complain("upsert of a row without all its columns");
      return put(table, made, what.version);
    case action::remove:
      return remove(table, old.key, what.version);
    case action::forget:
      open_.listed[table][old.key] = false;
      return;
    case action::partial: {
      auto& row = open_.rows[table].rows[made.key];
      const auto found = row.is_there;
      if (found)
        overlay(row, made);
      set_version(table, made.key, found ? what.version : what.version - 1);
      return answer(what, table, made.key, found, into);
    }
    case action::move: {
      auto base = open_.rows[table].rows[old.key];
      const auto found = base.is_there;
      remove(table, made.key, what.version - 1);
      remove(table, old.key, what.version);
      if (found) {
        overlay(base, made);
        open_.rows[table].rows[made.key] = base;
        set_version(table, made.key, what.version);
      }
      return answer(what, table, made.key, found, into);
    }
    case action::insert:
    case action::erase:
    case action::truncate:
      return complain("{} on a table with a key", name_of(what.what));
  }
}

void target::put(std::size_t table, const image& what, std::uint64_t version) {
  open_.rows[table].rows[what.key] = {.is_there = true, .place = 0, .value = what.value};
  open_.listed[table][what.key] = false;
  open_.removed_by_hand[table][what.key] = false;
  set_version(table, what.key, version);
}

void target::remove(std::size_t table, std::size_t key, std::uint64_t version) {
  open_.rows[table].rows[key].is_there = false;
  open_.listed[table][key] = false;
  open_.removed_by_hand[table][key] = false;
  set_version(table, key, version);
}

void target::overlay(row& onto, const image& what) {
  for (std::size_t i = 0; i < values; ++i) {
    if (what.present >> i & 1)
      onto.value[i] = what.value[i];
  }
}

void target::answer(const change& what, std::size_t table, std::size_t key, bool found,
                    write_report& into) {
  into.answers.push_back({what.number, found});
  if (found)
    return;
  open_.removed_by_hand[table][key] = false;
  if (what.keep_if_missing)
    open_.listed[table][key] = true;
  story_.say("target: … finds no row{}", what.keep_if_missing ? ": listed" : "");
}

// A target with versions would refuse what is older than what it has: here it is a complaint.
void target::set_version(std::size_t table, std::size_t key, std::uint64_t version) {
  auto& stored = open_.version[table][key];
  if (version < stored)
    complain("{} k{} at version {} is older than what is there ({})", table_name(table),
             key_text(key), version, stored);
  stored = version;
}

} // namespace cdc::simulation
