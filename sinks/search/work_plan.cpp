#include "sinks/search/work_plan.hpp"

#include <cassert>
#include <utility>

#include "sinks/search/stored_document.hpp"

namespace cdc::sinks::search {

namespace {

constexpr std::uint64_t last_piece = 2047;

/// A transaction's pieces after the last one share its number: there only a newer document says
/// that a change was written before.
bool is_written_at(std::uint64_t stored, std::uint64_t version) noexcept {
  return (version >> 1U & last_piece) == last_piece ? stored > version : stored >= version;
}

} // namespace

std::uint16_t places::of(const target_table& table) {
  const auto next = static_cast<std::uint16_t>(all.size());
  const auto [seen, is_new] = by_index.emplace(table.name, next);
  if (!is_new)
    return seen->second;
  place made;
  made.index = table.name;
  made.pipeline = table.pipeline;
  const auto known = ways.find(table.name);
  const auto& name = known == ways.end() ? table.name : known->second.name;
  made.head = "\"_index\":" + as_json(name) + ",\"version_type\":\"external_gte\",\"version\":";
  made.indexed = made.head;
  if (known != ways.end() && known->second.is_alias)
    made.indexed = "\"require_alias\":true," + made.indexed;
  if (!table.pipeline.empty())
    made.indexed = "\"pipeline\":" + as_json(table.pipeline) + "," + made.indexed;
  all.push_back(std::move(made));
  return next;
}

work_plan::work_plan(const batch& work, std::size_t first, std::size_t last,
                     std::vector<document_writer*> writers, std::vector<std::uint16_t> places)
    : work_(work), first_(first), last_(last), writers_(std::move(writers)),
      places_(std::move(places)), keys_(last - first) {
  touched_.reserve(last - first);
  for (auto i = first; i < last; ++i) {
    const auto& it = work.changes[i];
    touched at;
    if (it.what == action::remove || it.what == action::move)
      at.before = key_of(it, it.before);
    if (it.what != action::remove && it.what != action::forget)
      at.after = key_of(it, it.after);
    touched_.push_back(at);
    note_wants(it, at);
  }
  states_.resize(keys_.size());
}

std::uint32_t work_plan::key_of(const change& it, std::uint32_t first) {
  if (first == change::none)
    return key_set::none;
  id_.clear();
  writers_[it.table]->append_id(image_of(it, first), id_);
  const auto key = keys_.add(places_[it.table], id_);
  if (key == expected_.size())
    expected_.push_back(standing::unknown);
  return key;
}

// -- what has to be read first --------------------------------------------------------------------

void work_plan::want(std::uint32_t key) {
  if (key == key_set::none || expected_[key] != standing::unknown)
    return;
  expected_[key] = standing::stored;
  wants_.push_back(key);
}

void work_plan::note_wants(const change& it, const touched& at) {
  switch (it.what) {
    case action::upsert:
    case action::insert:
      if (expected_[at.after] != standing::stored)
        expected_[at.after] = standing::row;
      return;
    case action::remove:
      if (expected_[at.before] != standing::stored)
        expected_[at.before] = standing::gone;
      return;
    case action::partial:
      return want(at.after);
    case action::move:
      if (at.before == key_set::none || expected_[at.before] != standing::row) {
        want(at.before);
        want(at.after);
      }
      if (expected_[at.after] == standing::unknown)
        expected_[at.after] = standing::row;
      if (at.before != key_set::none && at.before != at.after &&
          expected_[at.before] == standing::row)
        expected_[at.before] = standing::gone;
      return;
    case action::erase:
    case action::truncate:
    case action::forget:
      return;
  }
}

void work_plan::found(std::vector<found_document> documents) {
  documents_ = std::move(documents);
  for (std::uint32_t i = 0; i < wants_.size(); ++i) {
    auto& to = states_[wants_[i]];
    // What cannot be walked cannot be completed, so it is read again from the source.
    const auto is_whole =
        documents_[i].is_there && for_each_field(documents_[i].source, [](const stored_field&) {});
    to.is = is_whole ? standing::stored : standing::gone;
    to.version = documents_[i].version;
    to.stored = i;
  }
}

// -- following the changes ------------------------------------------------------------------------

void work_plan::resolve(std::vector<answer>& answers) {
  for (auto i = first_; i < last_; ++i) {
    const auto& it = work_.changes[i];
    const auto& at = touched_[i - first_];
    switch (it.what) {
      case action::upsert:
      case action::insert:
        put(states_[at.after], it);
        break;
      case action::remove:
        remove(states_[at.before], it, it.version);
        break;
      case action::partial:
        answers.push_back({it.number, partial(states_[at.after], it)});
        break;
      case action::move:
        answers.push_back(
            {it.number, at.before == at.after ? partial(states_[at.after], it) : move(at, it)});
        break;
      case action::erase:
      case action::truncate:
      case action::forget:
        break;
    }
  }
}

void work_plan::put(state& to, const change& it) {
  if (to.version > it.version)
    return;
  to = {.version = it.version,
        .number = it.number,
        .is = standing::row,
        .is_written = true,
        .table = it.table,
        .image = image_of(it, it.after)};
}

void work_plan::remove(state& to, const change& it, std::uint64_t version) {
  if (to.version > version)
    return;
  to = {.version = version,
        .number = it.number,
        .is = standing::gone,
        .is_written = true,
        .table = it.table};
}

bool work_plan::partial(state& to, const change& it) {
  if (to.is == standing::gone || to.is == standing::unknown) {
    remove(to, it, it.version - 1);
    return false;
  }
  if (!is_written_at(to.version, it.version))
    overlay(to, it);
  return true;
}

bool work_plan::move(const touched& at, const change& it) {
  bool is_found = true;
  auto& to = states_[at.after];
  const auto* base = at.before == key_set::none ? nullptr : &states_[at.before];
  const auto is_there = [](const state& one) {
    return one.is == standing::row || one.is == standing::stored;
  };
  if (base != nullptr && is_there(*base) && base->version < it.version) {
    if (to.version <= it.version) {
      to = *base;
      if (to.over != none) {
        overlays_.push_back(overlays_[to.over]);
        to.over = static_cast<std::uint32_t>(overlays_.size() - 1);
      }
      overlay(to, it);
    }
  } else if (!is_there(to) || to.version < it.version) {
    is_found = false;
    remove(to, it, it.version - 1);
  }
  if (at.before != key_set::none)
    remove(states_[at.before], it, it.version);
  return is_found;
}

void work_plan::overlay(state& to, const change& it) {
  if (to.over == none) {
    to.over = static_cast<std::uint32_t>(overlays_.size());
    overlays_.emplace_back();
  }
  overlays_[to.over].push_back(image_of(it, it.after));
  to.version = it.version;
  to.number = it.number;
  to.table = it.table;
  to.is_written = true;
}

// -- the request ----------------------------------------------------------------------------------

void work_plan::write(const places& to, json_writer& out, std::vector<bulk_item>& items) {
  items.reserve(items.size() + keys_.size());
  for (std::uint32_t key = 0; key < states_.size(); ++key)
    if (states_[key].is_written)
      write_item(key, to, out, items);
}

void work_plan::write_item(std::uint32_t key, const places& to, json_writer& out,
                           std::vector<bulk_item>& items) {
  const auto& it = states_[key];
  const auto is_delete = it.is == standing::gone;
  const auto& where = to.all[keys_.place(key)];
  items.push_back({out.size(), key, is_delete});
  out.raw(is_delete ? "{\"delete\":{" : "{\"index\":{");
  out.raw(is_delete ? where.head : where.indexed);
  out.number(it.version);
  out.raw(",\"_id\":");
  out.string(keys_.id(key));
  out.raw("}}\n");
  if (is_delete)
    return;
  write_document(it, out);
  out.raw('\n');
}

void work_plan::write_document(const state& of, json_writer& out) {
  auto& writer = *writers_[of.table];
  if (of.is == standing::row && of.over == none)
    return writer.write(of.image, out);
  if (of.is == standing::row)
    return writer.write(of.image, overlays_[of.over], out);
  // found() has seen that it can be walked.
  [[maybe_unused]] const auto is_walked =
      writer.write(documents_[of.stored].source, overlays_[of.over], out);
  assert(is_walked);
}

} // namespace cdc::sinks::search
