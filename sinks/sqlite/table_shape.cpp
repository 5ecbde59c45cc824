#include "sinks/sqlite/table_shape.hpp"

#include <algorithm>

#include "sinks/sqlite/statement.hpp"

namespace cdc::sinks::sqlite {

namespace {

constexpr std::string_view reading = "reading the shape of its tables";

char folded(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string collation_of(database& db, const std::string& table, const std::string& column) {
  const char* collation = nullptr;
  sqlite3_table_column_metadata(db.handle(), "main", table.c_str(), column.c_str(), nullptr,
                                &collation, nullptr, nullptr, nullptr);
  return collation == nullptr ? "BINARY" : collation;
}

result<std::optional<existing_table>> find_table(database& db, const std::string& name) {
  auto query = statement::prepare(db, "SELECT name, type, wr, strict FROM pragma_table_list "
                                      "WHERE schema = 'main' AND name = ?1 COLLATE NOCASE");
  if (!query)
    return tl::unexpected(std::move(query).error());
  query->bind(1, std::string_view(name));
  const auto found = query->step(db, reading);
  if (!found)
    return tl::unexpected(found.error());
  if (!*found)
    return std::nullopt;
  existing_table out;
  out.name = query->text(0);
  out.what = query->text(1);
  out.is_without_rowid = query->integer(2) != 0;
  out.is_strict = query->integer(3) != 0;
  return out;
}

result<void> read_columns(database& db, existing_table& table) {
  auto query = statement::prepare(db, "SELECT name, type, \"notnull\", dflt_value, pk, hidden "
                                      "FROM pragma_table_xinfo(?1) ORDER BY cid");
  if (!query)
    return tl::unexpected(std::move(query).error());
  query->bind(1, std::string_view(table.name));
  return query->for_each_row(db, reading, [&] {
    auto& column = table.columns.emplace_back();
    column.name = query->text(0);
    column.type = query->text(1);
    column.collation = collation_of(db, table.name, column.name);
    column.not_null = query->integer(2) != 0;
    column.has_default = !query->is_null(3);
    column.key_position = static_cast<int>(query->integer(4));
    column.is_generated = query->integer(5) != 0;
  });
}

result<existing_key> read_index(database& db, const std::string& index, bool is_partial) {
  auto query = statement::prepare(
      db, "SELECT name, coll FROM pragma_index_xinfo(?1) WHERE key = 1 ORDER BY seqno");
  if (!query)
    return tl::unexpected(std::move(query).error());
  query->bind(1, std::string_view(index));
  existing_key out;
  out.is_whole = !is_partial;
  return query
      ->for_each_row(db, reading,
                     [&] {
                       out.is_whole = out.is_whole && !query->is_null(0);
                       out.is_binary = out.is_binary && query->text(1) == "BINARY";
                       out.columns.push_back(query->text(0));
                     })
      .map([&] { return std::move(out); });
}

result<void> read_indexes(database& db, existing_table& table) {
  auto query = statement::prepare(
      db, "SELECT name, partial, origin FROM pragma_index_list(?1) WHERE \"unique\" = 1");
  if (!query)
    return tl::unexpected(std::move(query).error());
  query->bind(1, std::string_view(table.name));
  for (;;) {
    const auto more = query->step(db, reading);
    if (!more)
      return tl::unexpected(more.error());
    if (!*more)
      return {};
    auto key = read_index(db, query->text(0), query->integer(1) != 0);
    if (!key)
      return tl::unexpected(std::move(key).error());
    key->is_primary = query->text(2) == "pk";
    table.unique.push_back(std::move(*key));
  }
}

/// An INTEGER PRIMARY KEY is the rowid itself and has no index.
void add_rowid_key(existing_table& table) {
  if (std::any_of(table.unique.begin(), table.unique.end(), [](auto& it) { return it.is_primary; }))
    return;
  for (const auto& column : table.columns)
    if (column.key_position == 1)
      table.unique.push_back({.columns = {column.name}, .is_primary = true});
}

} // namespace

const existing_column* existing_table::find(std::string_view column) const noexcept {
  const auto at = std::find_if(columns.begin(), columns.end(),
                               [&](const auto& it) { return same_name(it.name, column); });
  return at == columns.end() ? nullptr : &*at;
}

result<std::optional<existing_table>> read_shape(database& db, const std::string& name) {
  auto table = find_table(db, name);
  if (!table || !*table)
    return table;
  if (auto read = read_columns(db, **table); !read)
    return tl::unexpected(std::move(read).error());
  if (auto read = read_indexes(db, **table); !read)
    return tl::unexpected(std::move(read).error());
  add_rowid_key(**table);
  return table;
}

bool same_name(std::string_view one, std::string_view other) noexcept {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return folded(a) == folded(b); });
}

} // namespace cdc::sinks::sqlite
