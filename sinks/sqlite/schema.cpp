#include "sinks/sqlite/schema.hpp"

#include <algorithm>

#include "sinks/sqlite/column_type.hpp"

namespace cdc::sinks::sqlite {

namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](auto& it) { return same_name(it, name); });
}

std::vector<std::string> key_names(const target_table& table) {
  std::vector<std::string> out;
  for (const auto at : table.key)
    out.push_back(table.columns[at].name);
  return out;
}

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names)
    out += (out.empty() ? "" : ", ") + sql_name(name);
  return out;
}

bool is_written(const target_table& table, std::string_view column) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](auto& it) { return same_name(it.name, column); });
}

/// One integer column as the key is the rowid itself: one tree, the fastest there is.
bool has_rowid_key(const target_table& table, const schema_options& options) {
  return table.key.size() == 1 &&
         declared_type(table, table.columns[table.key[0]], options.numeric_as_number) == "INTEGER";
}

void compare_columns(const existing_table& have, const target_table& want,
                     const schema_options& options, shape_gap& out) {
  for (std::uint16_t i = 0; i < want.columns.size(); ++i) {
    const auto& column = want.columns[i];
    const auto* there = have.find(column.name);
    if (there == nullptr) {
      out.missing.push_back(i);
      continue;
    }
    if (!holds(there->type, have.is_strict, declared_type(want, column, options.numeric_as_number)))
      out.narrow.push_back(i);
    if (there->is_generated)
      out.mistakes.push_back(fmt::format("column {} is generated", sql_name(column.name)));
    if (there->not_null && !column.is_key)
      out.mistakes.push_back(fmt::format("column {} is NOT NULL", sql_name(column.name)));
    if (there->collation != "BINARY" && (column.is_key || want.key.empty()))
      out.mistakes.push_back(
          fmt::format("column {} compares by {}, so rows that differ would be one",
                      sql_name(column.name), there->collation));
  }
}

/// Columns that are there for other reasons must not refuse a row that does not mention them.
void compare_others(const existing_table& have, const target_table& want, shape_gap& out) {
  for (const auto& column : have.columns)
    if (!is_written(want, column.name) && column.not_null && !column.has_default)
      out.mistakes.push_back(fmt::format(
          "column {} is NOT NULL without a default, and no row has it", sql_name(column.name)));
}

void compare_keys(const existing_table& have, const target_table& want, shape_gap& out) {
  const auto key = key_names(want);
  const auto is_of_key = [&](const existing_key& it) {
    return std::all_of(key.begin(), key.end(),
                       [&](auto& name) { return contains(it.columns, name); });
  };
  const auto is_untouched = [&](const existing_key& it) {
    return std::none_of(it.columns.begin(), it.columns.end(),
                        [&](auto& name) { return is_written(want, name); });
  };
  bool has_key = key.empty();
  for (const auto& unique : have.unique) {
    if (!key.empty() && is_of_key(unique)) {
      has_key =
          has_key || (unique.columns.size() == key.size() && unique.is_whole && unique.is_binary);
      continue;
    }
    if (!is_untouched(unique))
      out.mistakes.push_back(fmt::format(
          "it is unique by ({}), which the source's rows need not be", list(unique.columns)));
  }
  if (!has_key)
    out.mistakes.push_back(fmt::format("it has no primary key or unique index on ({})", list(key)));
}

} // namespace

std::string create_sql(const target_table& table, const schema_options& options) {
  std::string sql = "CREATE TABLE " + sql_name(table.name) + " (";
  for (const auto& column : table.columns)
    sql += fmt::format("{} {}, ", sql_name(column.name),
                       declared_type(table, column, options.numeric_as_number));
  if (table.key.empty())
    sql.resize(sql.size() - 2);
  else
    sql += "PRIMARY KEY (" + list(key_names(table)) + ")";
  sql += ") STRICT";
  if (!table.key.empty() && !has_rowid_key(table, options))
    sql += ", WITHOUT ROWID";
  return sql;
}

std::string name_obstacle(const target_table& table) {
  for (auto one = table.columns.begin(); one != table.columns.end(); ++one)
    for (auto other = table.columns.begin(); other != one; ++other)
      if (same_name(one->name, other->name))
        return fmt::format("columns {} and {} of {} are one to SQLite, which does not tell upper "
                           "case from lower in names; give one of them another name with fields",
                           sql_name(other->name), sql_name(one->name),
                           to_string(table.source->table));
  const auto hides_row_number =
      is_written(table, "rowid") && is_written(table, "_rowid_") && is_written(table, "oid");
  if (hides_row_number && table.key.empty() && !table.append_only)
    return fmt::format("columns rowid, _rowid_ and oid of {} leave SQLite no name for the row "
                       "number that tells equal rows apart; give one of them another name with "
                       "fields",
                       to_string(table.source->table));
  return {};
}

shape_gap compare(const existing_table& have, const target_table& want,
                  const schema_options& options) {
  shape_gap out;
  if (have.what != "table") {
    out.mistakes.push_back(
        fmt::format("it is a {}", have.what == "virtual" ? "virtual table" : have.what));
    return out;
  }
  compare_columns(have, want, options, out);
  compare_others(have, want, out);
  compare_keys(have, want, out);
  return out;
}

bool shape_gap::none() const noexcept {
  return missing.empty() && narrow.empty() && mistakes.empty();
}

// A column of the key can neither be left out nor take another type.
bool is_closable(const shape_gap& gap, const target_table& want, const schema_options& options) {
  const auto is_key = [&](auto at) { return want.columns[at].is_key; };
  return gap.mistakes.empty() && std::ranges::none_of(gap.missing, is_key) &&
         std::ranges::none_of(gap.narrow, is_key) && (gap.narrow.empty() || options.add_columns);
}

std::string describe(const shape_gap& gap, const existing_table& have, const target_table& want,
                     const schema_options& options, bool is_known) {
  std::vector<std::string> parts;
  for (const auto at : gap.missing) {
    const auto& column = want.columns[at];
    parts.push_back(fmt::format("column {} {} is missing", sql_name(column.name),
                                declared_type(want, column, options.numeric_as_number)));
  }
  for (const auto at : gap.narrow) {
    const auto& column = want.columns[at];
    parts.push_back(fmt::format("column {} is {}, {} is needed", sql_name(column.name),
                                have.find(column.name)->type,
                                declared_type(want, column, options.numeric_as_number)));
  }
  parts.insert(parts.end(), gap.mistakes.begin(), gap.mistakes.end());
  std::string out = fmt::format("table {} cannot hold the rows of {}: ", sql_name(want.name),
                                to_string(want.source->table));
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : "; ") + parts[i];
  const auto helps = [&](const schema_options& with) { return is_closable(gap, want, with); };
  if (is_known && !helps(options) && helps({options.numeric_as_number, true}))
    out += ". With schema_changes = \"add\" the next start gives a column that is too narrow the "
           "type ANY, and adds one that is missing";
  return out;
}

std::string add_column_sql(const target_table& table, std::uint16_t column,
                           const schema_options& options) {
  const auto& added = table.columns[column];
  return fmt::format("ALTER TABLE {} ADD COLUMN {} {}", sql_name(table.name), sql_name(added.name),
                     declared_type(table, added, options.numeric_as_number));
}

std::string widen_column_sql(const target_table& table, std::uint16_t column) {
  const auto name = sql_name(table.columns[column].name);
  const auto old = sql_name(table.columns[column].name + "_before_any");
  const auto alter = "ALTER TABLE " + sql_name(table.name);
  return fmt::format("{0} RENAME COLUMN {1} TO {2}; {0} ADD COLUMN {1} ANY; "
                     "UPDATE {3} SET {1} = {2}; {0} DROP COLUMN {2}",
                     alter, name, old, sql_name(table.name));
}

} // namespace cdc::sinks::sqlite
