#include "sources/mysql/catalogue.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sources/mysql/connection.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr std::string_view server_schemas =
    "('information_schema', 'mysql', 'performance_schema', 'sys')";

std::string condition_of(const table_id& table) {
  return fmt::format("TABLE_SCHEMA = {} AND TABLE_NAME = {}", quote_literal(table.schema),
                     quote_literal(table.name));
}

} // namespace

const logged_table& detail_of(const relation& shape) noexcept {
  return static_cast<const logged_table&>(*shape.detail);
}

std::uint32_t oid_of(const table_id& table) noexcept {
  std::uint32_t hash = 2'166'136'261;
  const auto mix = [&](char letter) {
    hash = (hash ^ static_cast<std::uint8_t>(letter)) * 16'777'619;
  };
  for (const auto letter : table.schema)
    mix(letter);
  mix('\0');
  for (const auto letter : table.name)
    mix(letter);
  return hash == 0 ? 1 : hash;
}

std::uint32_t next_generation() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

std::string quote_table(const table_id& table) {
  return quote_identifier(table.schema) + "." + quote_identifier(table.name);
}

result<std::vector<listed_table>> catalogue::tables() {
  const auto found =
      on_.query(fmt::format("SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE FROM "
                            "information_schema.TABLES WHERE TABLE_SCHEMA NOT IN {} ORDER BY 1, 2",
                            server_schemas),
                "list the tables");
  if (!found)
    return tl::unexpected(found.error());
  std::vector<listed_table> out;
  for (std::size_t row = 0; row < found->size(); ++row)
    out.push_back({.table = {std::string{found->text(row, 0)}, std::string{found->text(row, 1)}},
                   .kind = std::string{found->text(row, 2)},
                   .engine = std::string{found->text(row, 3)}});
  return out;
}

result<relation_ptr> catalogue::describe(std::uint32_t oid) {
  const auto all = tables();
  if (!all)
    return tl::unexpected(all.error());
  const auto found = std::ranges::find_if(
      *all, [&](const listed_table& each) { return oid_of(each.table) == oid; });
  return found == all->end() ? result<relation_ptr>{nullptr} : describe(found->table);
}

result<relation_ptr> catalogue::describe(const table_id& table) {
  const auto checked = json_columns(table);
  if (!checked)
    return tl::unexpected(checked.error());
  const auto key = key_columns(table);
  if (!key)
    return tl::unexpected(key.error());
  const auto found =
      on_.query("SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, "
                "CHARACTER_OCTET_LENGTH, EXTRA, ORDINAL_POSITION FROM information_schema.COLUMNS "
                "WHERE " +
                    condition_of(table) + " ORDER BY ORDINAL_POSITION",
                "read the columns of " + to_string(table));
  if (!found)
    return tl::unexpected(found.error());
  if (found->empty())
    return relation_ptr{};
  relation out;
  out.table = table;
  out.oid = oid_of(table);
  out.generation = next_generation();
  out.identity = replica_identity::full;
  auto detail = std::make_shared<logged_table>();
  for (std::size_t row = 0; row < found->size(); ++row) {
    const auto extra = found->text(row, 5);
    std::string name{found->text(row, 0)};
    auto type = type_from_catalogue(
        {.data_type = found->text(row, 1),
         .column_type = found->text(row, 2),
         .character_set_name = found->text(row, 3),
         .octet_length = found->number<std::uint64_t>(row, 4),
         .is_json_checked = std::ranges::find(*checked, name) != checked->end()});
    if (!type)
      return fail(type.error().code, "{}: column {} of {}: {}", on_.describe(), name,
                  to_string(table), type.error().detail);
    auto made = make_column(std::move(name), *type);
    made.attribute = static_cast<std::int16_t>(row + 1);
    made.is_identity_key = true;
    made.is_identity = extra.find("auto_increment") != std::string_view::npos;
    detail->types.push_back(*std::move(type));
    out.columns.push_back(std::move(made));
  }
  for (const auto& name : *key) {
    const auto at = out.find(name);
    if (!at) {
      out.key.clear();
      break;
    }
    out.key.push_back(static_cast<std::uint16_t>(*at));
  }
  for (const auto at : out.key)
    out.columns[at].is_key = true;
  out.detail = std::move(detail);
  return std::make_shared<const relation>(std::move(out));
}

/// MariaDB's JSON is a LONGTEXT with a check.
result<std::vector<std::string>> catalogue::json_columns(const table_id& table) {
  std::vector<std::string> out;
  if (!on_.version().is_mariadb)
    return out;
  const auto found = on_.query(
      fmt::format("SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS "
                  "WHERE CONSTRAINT_SCHEMA = {} AND TABLE_NAME = {}",
                  quote_literal(table.schema), quote_literal(table.name)),
      "read the checks of " + to_string(table));
  if (!found)
    return tl::unexpected(found.error());
  for (std::size_t row = 0; row < found->size(); ++row)
    if (found->text(row, 1) == "json_valid(" + quote_identifier(found->text(row, 0)) + ")")
      out.emplace_back(found->text(row, 0));
  return out;
}

// The server lists the primary key first, then unique keys without NULLs in the order in which it
// prefers them for naming a row in its log.
result<std::vector<std::string>> catalogue::key_columns(const table_id& table) {
  const auto found =
      on_.query("SHOW INDEX FROM " + quote_table(table), "read the keys of " + to_string(table));
  if (!found && found.error().code == errc::source_unavailable && !on_.broken())
    return std::vector<std::string>{}; // No such table: the columns will say so.
  if (!found)
    return tl::unexpected(found.error());
  std::vector<std::string> out;
  std::string index;
  auto fits = false;
  for (std::size_t row = 0; row < found->size(); ++row) {
    const auto name = found->text(row, "Key_name");
    if (name != index) {
      if (fits)
        break;
      index = name;
      out.clear();
      fits = found->text(row, "Non_unique") == "0" && found->text(row, "Index_type") != "FULLTEXT";
    }
    fits = fits && found->text(row, "Null") != "YES" && found->text(row, "Sub_part").empty() &&
           !found->text(row, "Column_name").empty();
    out.emplace_back(found->text(row, "Column_name"));
  }
  if (!fits)
    out.clear();
  return out;
}

} // namespace cdc::sources::mysql
