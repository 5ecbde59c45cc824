#include "tests/simulation/coordinator.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/log_reader.hpp"
#include "tests/simulation/shapes.hpp"

namespace cdc::simulation {

coordinator::coordinator(const options& world, story& told, source& from, engine::engine& into,
                         std::vector<std::size_t> tables, std::vector<relation_ptr> shapes,
                         block_pool& pool)
    : world_(world), story_(told), source_(from), engine_(into), tables_(std::move(tables)),
      shapes_(std::move(shapes)), builder_(pool), window_({world.blocks, std::uint64_t{1} << 20}) {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const auto progress = engine_.progress(static_cast<std::uint16_t>(i));
    loads_.push_back({progress.plan, progress.done, !progress.plan.ranges.empty()});
  }
  if (!world_.plans_late) {
    while (plan()) {
    }
  }
}

coordinator::~coordinator() {
  for (auto& each : wave_)
    release(each);
}

void coordinator::release(range_reader& held) {
  if (std::exchange(held.holds, false))
    source_.let_go(held.table);
}

std::string coordinator::name(const range_reader& what) const {
  return fmt::format("range {}{}", table_name(what.table), what.range.range + 1);
}

template <class Pred>
coordinator::range_reader* coordinator::pick(std::uint8_t which, Pred can) {
  std::array<range_reader*, 8> found{};
  std::size_t count = 0;
  for (auto& each : wave_) {
    if (count < found.size() && can(each))
      found[count++] = &each;
  }
  return count == 0 ? nullptr : found[which % count];
}

// -- what the engine says -----------------------------------------------------------------------

void coordinator::on(const engine::news& what) {
  using kind = engine::news::what;
  switch (what.kind) {
    case kind::wave_durable:
      story_.say("load: the wave is durable");
      for (auto& each : wave_) {
        loads_[each.range.table].done[each.range.range] = true;
        release(each);
      }
      wave_.clear();
      is_paused_ = false;
      return;
    case kind::ranges_void:
      story_.say("load: the map is begun anew, unfinished ranges are read again");
      for (auto& each : wave_)
        release(each);
      wave_.clear();
      is_paused_ = false;
      for (auto& each : listed_)
        each.view.reset();
      looked_.reset();
      ++tally_.begun_anew;
      return;
    case kind::stream_paused:
      story_.say("load: the stream waits");
      is_paused_ = true;
      return;
    case kind::refetch:
      if (std::ranges::none_of(listed_, [&](const auto& each) {
            return each.table == what.table && each.key == what.key;
          }))
        listed_.push_back({what.table, what.key, {}});
      return;
    case kind::load_finished:
      story_.say("load: finished");
      return;
  }
}

bool coordinator::finished() const {
  return wave_.empty() && listed_.empty() && std::ranges::all_of(loads_, [](const auto& each) {
           return each.is_planned && std::ranges::all_of(each.done, std::identity{});
         });
}

// -- waves --------------------------------------------------------------------------------------

bool coordinator::plan() {
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    auto& load = loads_[i];
    if (load.is_planned)
      continue;
    load.plan = make_plan(world_, tables_[i]);
    load.done.assign(load.plan.ranges.size(), false);
    load.is_planned = true;
    story_.say("load: table {} is planned, {} range(s)", table_name(tables_[i]),
               load.plan.ranges.size());
    engine_.planned(static_cast<std::uint16_t>(i), load.plan);
    return true;
  }
  return false;
}

bool coordinator::open_wave(std::uint8_t from) {
  if (!wave_.empty())
    return false;
  if (plan() && from % 2 == 1)
    return true;
  std::vector<range_ref> open;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    const auto table = static_cast<std::uint16_t>(i);
    for (std::size_t range = 0; loads_[i].is_planned && range < loads_[i].done.size(); ++range) {
      if (!loads_[i].done[range])
        open.push_back({table, static_cast<std::uint32_t>(range)});
    }
  }
  if (open.empty())
    return false;
  std::ranges::rotate(open, open.begin() + from % static_cast<std::ptrdiff_t>(open.size()));
  const auto is_keyless = [&](range_ref each) {
    return world_.kinds[tables_[each.table]] == table_kind::keyless;
  };
  if (is_keyless(open.front()))
    open.resize(1);
  else
    std::erase_if(open, is_keyless);
  open.resize(std::min<std::size_t>(open.size(), world_.wave));
  for (const auto each : open) {
    auto& made = wave_.emplace_back();
    made.range = each;
    made.table = tables_[each.table];
    made.is_keyless = is_keyless(each);
    story_.say("load: {} opens", name(made));
  }
  engine_.open_wave(open);
  return true;
}

bool coordinator::take_snapshot(std::uint8_t which, std::uint64_t modesty) {
  auto* reader = pick(which, [&](const range_reader& each) {
    return !each.view && (!each.is_keyless || (is_paused_ && !source_.is_shut(each.table)));
  });
  if (reader == nullptr)
    return false;
  // Without a key the claim must be exact, and the table is locked before the snapshot.
  if (reader->is_keyless) {
    source_.hold(reader->table);
    reader->holds = true;
  }
  reader->view = source_.view(reader->is_keyless ? 0 : modesty);
  if (story_.told())
    story_.say("{}: a snapshot is taken, it sees {}; the log ends at {}", name(*reader),
               source_.describe(reader->view->seen), reader->view->log_end.token);
  return true;
}

bool coordinator::hand_over(std::uint8_t which) {
  auto* reader = pick(which, [](const range_reader& each) { return each.view && !each.is_handed; });
  if (reader == nullptr)
    return false;
  const auto said = engine_.hand_over(reader->range, reader->view->seen, reader->view->log_end);
  story_.say("{}: the snapshot is handed over{}", name(*reader),
             said == engine::verdict::accepted ? "" : " and refused");
  if (said == engine::verdict::accepted) {
    reader->is_handed = true;
    return true;
  }
  ++tally_.refused;
  release(*reader);
  reader->view.reset();
  return true;
}

void coordinator::find_rows(range_reader& for_whom) {
  for_whom.is_reading = true;
  if (!for_whom.holds)
    source_.hold(for_whom.table);
  for_whom.holds = true;
  const auto& found = for_whom.view->rows[for_whom.table];
  if (source_.truncations(for_whom.table) != for_whom.view->truncations[for_whom.table]) {
    // TRUNCATE is not kept apart by snapshots: who reads after it finds nothing.
    story_.say("{}: the table was emptied since the snapshot", name(for_whom));
    source_.note_found_emptied(for_whom.table);
    return;
  }
  if (for_whom.is_keyless) {
    for (std::size_t v = 0; v < bag_values; ++v) {
      for (std::size_t w = 0; w < bag_tails; ++w)
        for_whom.left.insert(for_whom.left.end(), static_cast<std::size_t>(found.bags[v][w]),
                             {v, w});
    }
    return;
  }
  const auto paged = world_.kinds[for_whom.table] == table_kind::paged;
  for (std::size_t key = 0; key < world_.keys; ++key) {
    const auto& row = found.rows[key];
    const auto range = paged ? row.place : range_of_key(world_, key);
    if (row.is_there && range == for_whom.range.range)
      for_whom.left.emplace_back(key, 0);
  }
}

block_ptr coordinator::rows_of(range_reader& from, std::size_t count) {
  const auto& found = from.view->rows[from.table];
  for (; count > 0 && !from.left.empty(); --count) {
    const auto [first, second] = from.left.back();
    from.left.pop_back();
    ++rows_;
    builder_.row(operation::row, shapes_[from.range.table]);
    if (from.is_keyless)
      write_bag_row(builder_, first, second);
    else
      write_row(builder_, first, found.rows[first].value);
    if (!story_.told())
      continue;
    if (from.is_keyless)
      story_.say("{}: reads (v{} w{})", name(from), first, second);
    else
      story_.say("{}: reads k{} {}", name(from), key_text(first),
                 describe(found.rows[first].value));
  }
  return builder_.take();
}

bool coordinator::read(std::uint8_t which, std::uint8_t rows, bool end_at_once) {
  auto* reader = pick(which, [&](const range_reader& each) {
    return each.is_handed && !each.has_ended && (each.holds || !source_.is_shut(each.table)) &&
           (each.left.empty() || window_.open());
  });
  if (reader == nullptr)
    return false;
  if (!reader->is_reading)
    find_rows(*reader);
  if (!reader->left.empty()) {
    if (!window_.open())
      return true;
    const auto block = rows_of(*reader, rows);
    window_.spend(block->bytes());
    engine_.rows(reader->range, block);
    if (!reader->left.empty() || !end_at_once)
      return true;
  }
  story_.say("{}: ends", name(*reader));
  release(*reader);
  reader->has_ended = true;
  engine_.end_range(reader->range);
  return true;
}

bool coordinator::lose(std::uint8_t which) {
  auto* reader = pick(which, [](const range_reader& each) { return each.view && !each.has_ended; });
  if (reader == nullptr)
    return false;
  story_.say("{}: the reader dies", name(*reader));
  release(*reader);
  const auto was_handed = reader->is_handed;
  *reader = {.range = reader->range,
             .table = reader->table,
             .is_keyless = reader->is_keyless,
             .view = {},
             .left = {}};
  if (was_handed)
    engine_.lose_range(reader->range);
  ++tally_.lost;
  return true;
}

void coordinator::restore(credit back) {
  if (back.blocks > 0)
    window_.restore(back);
}

// -- rows by their key --------------------------------------------------------------------------

bool coordinator::read_listed(std::uint8_t which, std::uint64_t modesty) {
  if (listed_.empty())
    return false;
  auto& row = listed_[which % listed_.size()];
  const auto table = tables_[row.table];
  if (row.view || source_.is_shut(table))
    return false;
  row.view = source_.view(modesty);
  if (story_.told())
    story_.say(
        "refetch of {} k{}: a snapshot is taken, it sees {}; the log ends at {}; it reads {}",
        table_name(table), key_text(*key_of_form(row.key)), source_.describe(row.view->seen),
        row.view->log_end.token, describe(row.view->rows[table].rows[*key_of_form(row.key)]));
  return true;
}

bool coordinator::answer_listed(std::uint8_t which) {
  if (listed_.empty() || !listed_[which % listed_.size()].view)
    return false;
  const auto at = listed_.begin() + which % static_cast<std::ptrdiff_t>(listed_.size());
  const auto row = std::move(*at);
  listed_.erase(at);
  const auto key = *key_of_form(row.key);
  const auto& found = row.view->rows[tables_[row.table]].rows[key];
  block_ptr block;
  if (found.is_there) {
    builder_.row(operation::row, shapes_[row.table]);
    write_row(builder_, key, found.value);
    block = builder_.take();
  }
  const auto said = engine_.hand_over(row.table, row.key, row.view->seen, row.view->log_end, block);
  story_.say("refetch of {} k{}: handed over{}", table_name(tables_[row.table]), key_text(key),
             said == engine::verdict::accepted ? "" : " and refused");
  if (said == engine::verdict::not_yet) {
    ++tally_.refused;
    listed_.push_back({row.table, row.key, {}});
    return true;
  }
  ++tally_.refetched;
  rows_ += found.is_there;
  return true;
}

// -- proofs -------------------------------------------------------------------------------------

bool coordinator::look(std::uint64_t modesty) {
  if (looked_ || !engine_.wants_proof())
    return false;
  looked_ = modesty == 0 ? source_.look() : source_.view(modesty).seen;
  if (story_.told())
    story_.say("load: a snapshot is looked at, it sees {}", source_.describe(*looked_));
  return true;
}

bool coordinator::prove() {
  if (!looked_)
    return false;
  engine_.prove(*looked_);
  looked_.reset();
  story_.say("load: … and handed over");
  return true;
}

} // namespace cdc::simulation
