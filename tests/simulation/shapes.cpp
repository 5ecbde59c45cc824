#include "tests/simulation/shapes.hpp"

#include <charconv>

#include "messages/row_key.hpp"

namespace cdc::simulation {

namespace {

column make_column(std::string name, std::int16_t attribute, bool is_key) {
  return {.name = std::move(name),
          .attribute = attribute,
          .type_oid = 20,
          .what = kind::integer,
          .is_key = is_key,
          .is_identity_key = is_key,
          .type_name = "int8"};
}

} // namespace

bool has_key(table_kind kind) {
  return kind == table_kind::keyed || kind == table_kind::paged;
}

std::string table_name(std::size_t table) {
  return std::string(1, static_cast<char>('A' + table));
}

relation_ptr make_relation(const options& world, std::size_t table, std::uint32_t generation) {
  auto made = std::make_shared<relation>();
  made->table = {"public", std::string(1, static_cast<char>('a' + table))};
  made->oid = static_cast<std::uint32_t>(16'400 + table);
  made->generation = generation;
  if (world.kinds[table] == table_kind::keyless) {
    made->identity = replica_identity::full;
    made->columns = {make_column("v", 1, false), make_column("w", 2, false)};
    return made;
  }
  made->identity = world.full_identity ? replica_identity::full : replica_identity::primary_key;
  made->columns = {make_column("id", 1, true), make_column("a", 2, false),
                   make_column("b", 3, false), make_column("c", 4, false)};
  made->key = {0};
  return made;
}

target_table_ptr make_target(const relation_ptr& source) {
  auto made = std::make_shared<target_table>();
  made->name = std::string(1, static_cast<char>(source->table.name.front() - 'a' + 'A'));
  made->source = source;
  for (std::size_t i = 0; i < source->columns.size(); ++i) {
    target_column column;
    column.name = source->columns[i].name;
    column.source = static_cast<std::uint16_t>(i);
    column.what = source->columns[i].what;
    column.is_key = source->columns[i].is_key;
    made->columns.push_back(std::move(column));
  }
  made->key = source->key;
  return made;
}

std::size_t range_of_key(const options& world, std::size_t key) {
  return key * world.ranges / world.keys;
}

load_plan make_plan(const options& world, std::size_t table) {
  load_plan plan;
  if (world.kinds[table] == table_kind::keyless) {
    plan.scheme = range_scheme::keyless;
    plan.ranges.emplace_back();
    return plan;
  }
  const auto paged = world.kinds[table] == table_kind::paged;
  plan.scheme = paged ? range_scheme::opaque : range_scheme::key;
  plan.by_page = paged;
  for (std::size_t range = 0; range < world.ranges; ++range) {
    auto& made = plan.ranges.emplace_back();
    if (paged) {
      made.from.push_back(std::to_string(range));
      if (range + 1 < world.ranges)
        made.to.push_back(std::to_string(range + 1));
      continue;
    }
    // The first and the last range are open, as every plan's must be: rows may come outside.
    std::size_t key = 0;
    while (range_of_key(world, key) < range)
      ++key;
    if (range > 0) {
      made.from.push_back(key_text(key));
      plan.ranges[range - 1].to.push_back(key_text(key));
    }
  }
  return plan;
}

std::optional<std::size_t> key_of_text(std::string_view text) {
  std::size_t number = 0;
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (mistake != std::errc{} || end != text.data() + text.size() || number < 8 ||
      number >= 8 + keys_max)
    return std::nullopt;
  return number - 8;
}

const std::string& key_form(std::size_t key) {
  static const auto forms = [] {
    std::array<std::string, keys_max> made;
    for (std::size_t i = 0; i < keys_max; ++i)
      made[i] = encode_key(std::array{key_text(i)});
    return made;
  }();
  return forms[key];
}

std::optional<std::size_t> key_of_form(std::string_view encoded) {
  for (std::size_t key = 0; key < keys_max; ++key) {
    if (key_form(key) == encoded)
      return key;
  }
  return std::nullopt;
}

} // namespace cdc::simulation
