#include "tests/simulation/target.hpp"

#include <algorithm>
#include <charconv>

#include "tests/simulation/shapes.hpp"

namespace cdc::simulation {

std::string_view name_of(action what) {
  static constexpr std::array<std::string_view, 8> names{"upsert", "remove", "partial",  "move",
                                                         "insert", "erase",  "truncate", "forget"};
  return names[static_cast<std::size_t>(what)];
}

void target::submit(batch_ptr work) {
  sent_.push_back(std::move(work));
  ++outstanding_;
}

void target::lose_process(std::uint8_t which) {
  on_process_lost(which);
  sent_.clear();
  answers_.clear();
  outstanding_ = 0;
}

std::optional<write_report> target::take_answer() {
  if (answers_.empty())
    return std::nullopt;
  auto out = std::move(answers_.front());
  answers_.pop_front();
  --outstanding_;
  return out;
}

// -- reading a batch ----------------------------------------------------------------------------

target::image target::read_image(const batch& work, const change& what, std::uint32_t first) {
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
  const std::size_t behind_key = table.key.empty() ? 0 : 1;
  if (behind_key == 1) {
    const auto key = cells[0].has_value() ? key_of_text(from.text(cells[0])) : std::nullopt;
    if (!key)
      complain("{} without a key", name_of(what.what));
    out.key = key.value_or(0);
  }
  for (std::size_t i = 0; i + behind_key < cells.size(); ++i) {
    if (!cells[i + behind_key].has_value())
      continue;
    out.present |= 1u << i;
    out.value[i] = number(cells[i + behind_key]);
  }
  return out;
}

target::row_write target::read(const batch& work, const change& what) {
  row_write out{.what = what.what,
                .table = static_cast<std::size_t>(work.tables[what.table]->name.front() - 'A'),
                .old = {},
                .made = {},
                .keep_if_missing = what.keep_if_missing,
                .number = what.number,
                .version = what.version};
  if (what.before != change::none)
    out.old = read_image(work, what, what.before);
  if (what.after != change::none)
    out.made = read_image(work, what, what.after);
  const auto has_key = simulation::has_key(world_.kinds[out.table]);
  const auto fits = what.what == action::truncate ||
                    has_key == (what.what != action::insert && what.what != action::erase);
  if (!fits)
    complain("{} on table {}", name_of(what.what), table_name(out.table));
  const auto must_be_whole = what.what == action::upsert || what.what == action::insert;
  if (must_be_whole && out.made.present != (has_key ? 7u : 3u))
    complain("{} of a row without all its columns", name_of(what.what));
  if (what.what == action::erase && out.old.present != 3)
    complain("erase of a row without all its columns");
  if (story_.told())
    tell(out, what.is_copy);
  return out;
}

void target::tell(const row_write& made, bool is_copy) {
  auto text = fmt::format("{} {}", name_of(made.what), table_name(made.table));
  const auto has_key = simulation::has_key(world_.kinds[made.table]);
  const auto says_old =
      made.what == action::remove || made.what == action::forget || made.what == action::move;
  if (has_key && says_old)
    text += " k" + key_text(made.old.key);
  if (has_key && made.what != action::remove && made.what != action::forget &&
      made.what != action::truncate)
    text += " k" + key_text(made.made.key) + " " +
            simulation::describe(made.made.value, made.made.present);
  if (!has_key && made.what != action::truncate) {
    const auto& row = made.what == action::erase ? made.old : made.made;
    text += fmt::format(" (v{} w{})", row.value[0], row.value[1]);
  }
  story_.say("target: {}{}", text, is_copy ? " copied" : "");
}

void target::overlay(row& onto, const image& what) {
  for (std::size_t i = 0; i < values; ++i) {
    if (what.present >> i & 1)
      onto.value[i] = what.value[i];
  }
}

// -- our own state ------------------------------------------------------------------------------

void target::write_state(const batch& work, target_state& to) {
  for (const auto& each : work.records) {
    if (each.value)
      to.records[each.name] = *each.value;
    else
      to.records.erase(each.name);
  }
  for (const auto& each : work.listed) {
    const auto key = key_of_form(each.key);
    if (!key || each.table.size() != 1)
      return complain("batch {} lists a key that does not exist", work.number);
    to.listed[static_cast<std::size_t>(each.table.front() - 'A')][*key] = true;
  }
  if (work.reaches) {
    if (to.reached && work.reaches->resume < to.reached->resume)
      complain("batch {} moves the checkpoint back", work.number);
    to.reached = work.reaches;
  }
  if (!to.reached)
    complain("batch {} writes before there is a checkpoint", work.number);
}

sink_state target::describe(const target_state& from, std::uint64_t epoch, std::size_t tables) {
  sink_state out;
  out.epoch = epoch;
  out.resume = from.reached;
  for (const auto& [name, value] : from.records)
    out.records.emplace_back(name, value);
  for (std::size_t table = 0; table < tables; ++table) {
    for (std::size_t key = 0; key < keys_max; ++key) {
      if (from.listed[table][key])
        out.refetch.push_back({table_name(table), key_form(key)});
    }
  }
  return out;
}

void target::tell(const batch& work, const target_state& after) {
  std::string all;
  for (std::size_t table = 0; table < world_.tables; ++table) {
    if (world_.kinds[table] == table_kind::ignored)
      continue;
    all += fmt::format("; {}:", table_name(table));
    if (world_.kinds[table] == table_kind::keyless) {
      all += " " + simulation::describe(after.rows[table].bags);
      continue;
    }
    for (std::size_t key = 0; key < world_.keys; ++key)
      all +=
          fmt::format(" k{}={}{}", key_text(key), simulation::describe(after.rows[table].rows[key]),
                      after.listed[table][key] ? " listed" : "");
  }
  story_.say("target: batch {} is written{}; checkpoint {}{}", work.number,
             work.is_durable ? " durably" : "", after.reached ? after.reached->resume.token : 0,
             all);
  for (const auto& each : work.records) {
    auto value = each.value.value_or("(removed)");
    std::ranges::replace(value, '\n', ' ');
    story_.say("target: … with record {} = {}", each.name, value);
  }
}

} // namespace cdc::simulation
