#include "sources/postgres/publication.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/connection.hpp"

namespace cdc::sources::postgres {

namespace {

constexpr std::string_view verbs_of(publishing what) noexcept {
  return what == publishing::everything ? "insert, update, delete, truncate" : "insert, truncate";
}

result<void> read_members(connection& on, publication_state& into) {
  const std::string filter = on.server_version() >= 150000 ? "r.prqual IS NOT NULL" : "false";
  const auto found =
      on.query("SELECT c.oid, n.nspname, c.relname, r.oid, " + filter +
                   " FROM pg_catalog.pg_publication_rel r"
                   " JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid"
                   " JOIN pg_catalog.pg_class c ON c.oid = r.prrelid"
                   " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
                   " WHERE p.pubname = $1 ORDER BY n.nspname, c.relname",
               std::array{into.name}, "read the members of publication " + into.name);
  if (!found)
    return tl::unexpected(found.error());
  for (int row = 0; row < found->size(); ++row)
    into.members.push_back(
        {.entry = found->number<std::uint32_t>(row, 3),
         .oid = found->number<std::uint32_t>(row, 0),
         .table = {std::string{found->text(row, 1)}, std::string{found->text(row, 2)}},
         .has_row_filter = found->flag(row, 4)});
  return {};
}

result<void> read_schemas(connection& on, publication_state& into) {
  if (on.server_version() < 150000)
    return {};
  const auto found =
      on.query("SELECT n.nspname, s.oid FROM pg_catalog.pg_publication_namespace s"
               " JOIN pg_catalog.pg_publication p ON p.oid = s.pnpubid"
               " JOIN pg_catalog.pg_namespace n ON n.oid = s.pnnspid"
               " WHERE p.pubname = $1 ORDER BY 1",
               std::array{into.name}, "read the schemas of publication " + into.name);
  if (!found)
    return tl::unexpected(found.error());
  for (int row = 0; row < found->size(); ++row)
    into.schemas.push_back(
        {.entry = found->number<std::uint32_t>(row, 1), .name = std::string{found->text(row, 0)}});
  return {};
}

std::string names_of(std::span<const wanted_table> tables) {
  std::string out;
  for (const auto& each : tables)
    out += (out.empty() ? "" : ", ") + to_string(each.shape->table);
  return out;
}

bool contains(std::span<const wanted_table> tables, std::uint32_t oid) {
  return std::ranges::any_of(tables, [&](const auto& each) { return each.shape->oid == oid; });
}

std::string alter(const publication_state& is, std::string_view what) {
  return fmt::format("ALTER PUBLICATION {} {};", quote_identifier(is.name), what);
}

void judge_members(const publication_state& is, std::span<const wanted_table> tables,
                   std::span<const wanted_table> tolerated, std::vector<std::string>& out) {
  std::vector<wanted_table> missing;
  std::ranges::copy_if(tables, std::back_inserter(missing),
                       [&](const auto& each) { return !is.covers(*each.shape); });
  if (!missing.empty())
    out.push_back(fmt::format("publication {} lacks {}: {}", is.name, names_of(missing),
                              alter(is, "ADD TABLE " + table_list(missing))));
  std::string extra_names;
  std::string extra_list;
  for (const auto& member : is.members) {
    if (contains(tables, member.oid) || contains(tolerated, member.oid))
      continue;
    extra_names += (extra_names.empty() ? "" : ", ") + to_string(member.table);
    extra_list += (extra_list.empty() ? "" : ", ") + quote_table(member.table);
  }
  if (!extra_names.empty())
    out.push_back(fmt::format("publication {} has tables that no section takes, {}: {}", is.name,
                              extra_names, alter(is, "DROP TABLE " + extra_list)));
}

void judge_filters(const publication_state& is, std::span<const wanted_table> tables,
                   std::vector<std::string>& out) {
  for (const auto& member : is.members) {
    if (member.has_row_filter && contains(tables, member.oid))
      out.push_back(fmt::format("publication {} filters the rows of {}, and the load would copy "
                                "those it leaves out: {} {}",
                                is.name, to_string(member.table),
                                alter(is, "DROP TABLE " + quote_table(member.table)),
                                alter(is, "ADD TABLE " + quote_table(member.table))));
  }
}

void judge_verbs(const publication_state& is, publishing what, std::span<const wanted_table> tables,
                 std::vector<std::string>& out) {
  const auto publish = fmt::format("SET (publish = '{}')", verbs_of(what));
  const auto lacks = !is.inserts || !is.truncates ||
                     (what == publishing::everything && (!is.updates || !is.deletes));
  if (lacks)
    out.push_back(fmt::format("publication {} does not publish all of {}: {}", is.name,
                              verbs_of(what), alter(is, publish)));
  const auto breaks = what == publishing::insert_only && (is.updates || is.deletes) &&
                      std::ranges::any_of(tables, [](const auto& t) { return !t.has_identity; });
  if (breaks)
    out.push_back(fmt::format("publication {} publishes updates or deletes of tables whose rows "
                              "cannot be told apart, and makes them fail: {}",
                              is.name, alter(is, publish)));
}

} // namespace

bool publication_state::covers(const relation& table) const noexcept {
  return all_tables ||
         std::ranges::find(schemas, table.table.schema, &published_schema::name) != schemas.end() ||
         std::ranges::find(members, table.oid, &publication_member::oid) != members.end();
}

std::uint32_t publication_state::entry_of(const relation& table) const noexcept {
  const auto member = std::ranges::find(members, table.oid, &publication_member::oid);
  if (member != members.end())
    return member->entry;
  const auto schema = std::ranges::find(schemas, table.table.schema, &published_schema::name);
  if (schema != schemas.end())
    return schema->entry;
  return all_tables ? oid : 0;
}

result<std::optional<publication_state>> read_publication(connection& on, const std::string& name) {
  const auto found = on.query("SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate,"
                              " pubviaroot, oid FROM pg_catalog.pg_publication WHERE pubname = $1",
                              std::array{name}, "read publication " + name);
  if (!found)
    return tl::unexpected(found.error());
  if (found->empty())
    return std::optional<publication_state>{};
  publication_state out;
  out.name = name;
  out.all_tables = found->flag(0, 0);
  out.inserts = found->flag(0, 1);
  out.updates = found->flag(0, 2);
  out.deletes = found->flag(0, 3);
  out.truncates = found->flag(0, 4);
  out.via_root = found->flag(0, 5);
  out.oid = found->number<std::uint32_t>(0, 6);
  if (auto read = read_members(on, out); !read)
    return tl::unexpected(read.error());
  if (auto read = read_schemas(on, out); !read)
    return tl::unexpected(read.error());
  return std::optional{std::move(out)};
}

std::string create_publication(const std::string& name, publishing what,
                               std::span<const wanted_table> tables, int server_version) {
  std::string with = "publish_via_partition_root = true";
  if (what == publishing::insert_only)
    with += fmt::format(", publish = '{}'", verbs_of(what));
  if (server_version >= 180000)
    with += ", publish_generated_columns = stored";
  return fmt::format("CREATE PUBLICATION {} FOR TABLE {} WITH ({});", quote_identifier(name),
                     table_list(tables), with);
}

std::vector<std::string> differences(const publication_state& is, publishing what,
                                     std::span<const wanted_table> tables,
                                     std::span<const wanted_table> tolerated) {
  std::vector<std::string> out;
  judge_members(is, tables, tolerated, out);
  judge_filters(is, tables, out);
  judge_verbs(is, what, tables, out);
  const auto is_partitioned = [](const auto& each) { return each.is_partitioned; };
  if (!is.via_root && std::ranges::any_of(tables, is_partitioned))
    out.push_back(fmt::format("publication {} publishes partitions as tables of their own: {}",
                              is.name, alter(is, "SET (publish_via_partition_root = true)")));
  return out;
}

std::string table_list(std::span<const wanted_table> tables) {
  std::string out;
  for (const auto& each : tables)
    out += (out.empty() ? "" : ", ") + std::string{each.has_heirs ? "ONLY " : ""} +
           quote_table(each.shape->table);
  return out;
}

} // namespace cdc::sources::postgres
