#include "sources/postgres/relation_cache.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/types.hpp"

namespace cdc::sources::postgres {

namespace {

/// Everything but the generation.
bool same_shape(const relation& a, const relation& b) {
  return a.table == b.table && a.identity == b.identity && a.columns == b.columns && a.key == b.key;
}

const column* find_same(const relation* in, std::string_view name, std::uint32_t type_oid) {
  if (!in)
    return nullptr;
  const auto at = in->find(name);
  return at && in->columns[*at].type_oid == type_oid ? &in->columns[*at] : nullptr;
}

/// The key of `of` by its columns' names; empty when one of them is not in `out`.
std::vector<std::uint16_t> same_key(const relation& out, const relation* of) {
  std::vector<std::uint16_t> key;
  for (const auto part : of ? of->key : std::vector<std::uint16_t>{}) {
    const auto at = out.find(of->columns[part].name);
    if (!at)
      return {};
    key.push_back(static_cast<std::uint16_t>(*at));
  }
  return key;
}

std::vector<std::uint16_t> identity_key(const relation& out) {
  std::vector<std::uint16_t> key;
  if (out.identity == replica_identity::full)
    return key;
  for (std::size_t at = 0; at < out.columns.size(); ++at) {
    if (out.columns[at].is_identity_key)
      key.push_back(static_cast<std::uint16_t>(at));
  }
  return key;
}

// Under FULL an old row is there whole, and a keyless table is the engine's to deal with.
bool names_rows(const relation& shape) {
  if (shape.identity == replica_identity::full)
    return true;
  return !shape.key.empty() && std::ranges::all_of(shape.key, [&](std::uint16_t at) {
    return shape.columns[at].is_identity_key;
  });
}

} // namespace

void relation_cache::announce(const relation_message& message) {
  auto& about = known_[message.oid];
  const auto is_expected = std::exchange(about.is_expected, false);
  if (about.announced && says_the_same(about, message)) {
    // The server repeats itself after any change of the table, an index or statistics included; but
    // a column that was dropped and added again reads the same here and has another number there.
    if (about.current.shape && !is_expected)
      want(message.oid);
    return;
  }
  about.announced = true;
  about.table = {std::string{message.schema}, std::string{message.name}};
  about.identity = message.identity;
  about.columns.clear();
  for (const auto& each : message.columns)
    about.columns.push_back(
        {std::string{each.name}, each.type_oid, each.type_modifier, each.is_identity_key});
  settle(message.oid, about, false);
}

void relation_cache::expect_again(bool looks_again) {
  for (auto& [oid, about] : known_)
    about.is_expected = !looks_again;
}

void relation_cache::provide(relation_ptr shape) {
  if (!shape && wanted_.empty())
    return;
  const auto oid = shape ? shape->oid : wanted_.front();
  std::erase(wanted_, oid);
  auto& about = known_[oid];
  if (shape)
    about.catalogue = std::move(shape);
  settle(oid, about, true);
}

/// Finds the shape after one side has spoken. What the catalogue said before the stream changed its
/// mind is worth nothing, so then it is asked again.
void relation_cache::settle(std::uint32_t oid, known& about, bool from_catalogue) {
  if (!about.announced)
    return;
  const auto& now = about.current.shape;
  if (about.catalogue && agrees(about, *about.catalogue)) {
    if (!now || !same_shape(*now, *about.catalogue))
      use(about, about.catalogue);
  } else if (!from_catalogue) {
    about.current = {};
  } else if (!now) {
    use(about, std::make_shared<const relation>(merge(about, oid)));
    // The merged shape has taken this generation: the next one needs a description of its own.
    about.catalogue = nullptr;
  }
}

void relation_cache::use(known& about, relation_ptr shape) {
  about.current.names_rows = names_rows(*shape);
  about.current.shape = std::move(shape);
  about.generation = about.current.shape->generation;
}

const relation_cache::entry* relation_cache::find(std::uint32_t oid) {
  if (last_ && oid == last_oid_) [[likely]]
    return last_;
  const auto found = known_.find(oid);
  if (found == known_.end() || !found->second.announced)
    return nullptr;
  last_oid_ = oid;
  last_ = &found->second.current;
  return last_;
}

void relation_cache::want(std::uint32_t oid) {
  if (std::ranges::find(wanted_, oid) == wanted_.end())
    wanted_.push_back(oid);
}

std::optional<std::uint32_t> relation_cache::wanted() const noexcept {
  if (wanted_.empty())
    return std::nullopt;
  return wanted_.front();
}

bool relation_cache::says_the_same(const known& about, const relation_message& message) {
  return about.table.schema == message.schema && about.table.name == message.name &&
         about.identity == message.identity &&
         std::ranges::equal(about.columns, message.columns, [](const auto& a, const auto& b) {
           return a.name == b.name && a.type_oid == b.type_oid &&
                  a.type_modifier == b.type_modifier && a.is_identity_key == b.is_identity_key;
         });
}

bool relation_cache::agrees(const known& about, const relation& shape) {
  return about.table == shape.table && about.identity == shape.identity &&
         std::ranges::equal(about.columns, shape.columns, [](const auto& a, const column& b) {
           return a.name == b.name && a.type_oid == b.type_oid &&
                  a.type_modifier == b.type_modifier && a.is_identity_key == b.is_identity_key;
         });
}

relation relation_cache::merge(const known& about, std::uint32_t oid) {
  const auto* catalogue = about.catalogue.get();
  relation out;
  out.table = about.table;
  out.oid = oid;
  out.generation = catalogue && catalogue->generation > about.generation ? catalogue->generation
                                                                         : about.generation + 1;
  out.identity = about.identity;
  for (const auto& said : about.columns) {
    auto& next = out.columns.emplace_back();
    if (const auto* same = find_same(catalogue, said.name, said.type_oid)) {
      next = *same;
    } else if (auto facts = type_catalogue::built_in(said.type_oid)) {
      next.what = facts->what;
      next.element = facts->element;
      next.delimiter = facts->delimiter;
      next.type_name = std::move(facts->name);
    }
    next.name = said.name;
    next.type_oid = said.type_oid;
    next.type_modifier = said.type_modifier;
    next.is_identity_key = said.is_identity_key;
    next.is_key = false;
  }
  out.key = same_key(out, catalogue);
  if (out.key.empty())
    out.key = identity_key(out);
  for (const auto at : out.key)
    out.columns[at].is_key = true;
  return out;
}

std::string identity_remedy(const relation& shape) {
  const auto table = quote_table(shape.table);
  const auto has_primary_key =
      shape.identity != replica_identity::primary_key && !shape.key.empty();
  if (has_primary_key)
    return fmt::format("ALTER TABLE {} REPLICA IDENTITY DEFAULT", table);
  return fmt::format(
      "ALTER TABLE {0} ADD PRIMARY KEY (…), or ALTER TABLE {0} REPLICA IDENTITY FULL", table);
}

} // namespace cdc::sources::postgres
