#include "sources/postgres/setup_sql.hpp"

#include <set>
#include <vector>

#include "config/table_pattern.hpp"
#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/conninfo.hpp"
#include "sources/postgres/publication.hpp"

namespace cdc::sources::postgres {

namespace {

using wanted_tables = std::vector<wanted_table>;

wanted_table as_wanted(const table_id& table) {
  auto shape = std::make_shared<relation>();
  shape->table = table;
  return {.shape = std::move(shape)};
}

/// What the sections name, without a catalogue to look patterns up in.
struct named_tables {
  wanted_tables everything, inserts;
  std::set<std::string> schemas;       ///< Of all of them.
  std::set<std::string> whole_schemas; ///< Of patterns.
  bool any_schema = false;             ///< A pattern that names none.

  [[nodiscard]] bool has_patterns() const { return any_schema || !whole_schemas.empty(); }
};

named_tables collect(std::span<const config::sync_config> sections) {
  named_tables out;
  for (const auto& section : sections) {
    if (!section.is_pattern) {
      out.schemas.insert(section.table.schema);
      (section.append_only ? out.inserts : out.everything).push_back(as_wanted(section.table));
      continue;
    }
    for (const auto& each : section.tables) {
      const auto pattern = config::parse_table_pattern(each);
      if (!pattern || pattern->excludes)
        continue;
      const auto is_open = pattern->schema.find('\0') != std::string::npos;
      out.any_schema = out.any_schema || is_open;
      if (!is_open)
        out.whole_schemas.insert(pattern->schema);
    }
  }
  out.schemas.insert(out.whole_schemas.begin(), out.whole_schemas.end());
  return out;
}

std::string grants(const named_tables& tables, const std::string& role) {
  std::string out;
  for (const auto& schema : tables.schemas)
    out += fmt::format("GRANT USAGE ON SCHEMA {} TO {};\n", quote_identifier(schema), role);
  for (const auto& schema : tables.whole_schemas)
    out += fmt::format("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {};\n", quote_identifier(schema),
                       role);
  for (const auto* some : {&tables.everything, &tables.inserts})
    if (!some->empty())
      out += fmt::format("GRANT SELECT ON TABLE {} TO {};\n", table_list(*some), role);
  if (tables.any_schema)
    out += fmt::format("-- A pattern takes tables of every schema: this role reads them all.\n"
                       "GRANT pg_read_all_data TO {};\n",
                       role);
  return out;
}

std::string publications(const config::source_config& source, const named_tables& tables) {
  if (tables.has_patterns())
    return "-- Which tables the patterns take is known to the catalogue alone: cdc-actors "
           "validate\n"
           "-- prints the CREATE PUBLICATION that is missing.\n";
  std::string out;
  const auto add = [&](const std::string& name, publishing what, const wanted_tables& which) {
    if (!which.empty())
      out += create_publication(name, what, which, 0) + "\n";
  };
  add(source.publication, publishing::everything, tables.everything);
  add(source.publication + "_append", publishing::insert_only, tables.inserts);
  return out;
}

} // namespace

result<std::string> setup_sql(const config::source_config& source,
                              std::span<const config::sync_config> sections) {
  const auto to = conninfo::make(source, purpose::query, "setup");
  if (!to)
    return tl::unexpected(to.error());
  const auto role = quote_identifier(to->user());
  const auto tables = collect(sections);
  return fmt::format("-- Needs a restart of the server where it changes something.\n"
                     "ALTER SYSTEM SET wal_level = 'logical';\n\n"
                     "-- In database {}, as a superuser.\n"
                     "CREATE ROLE {} LOGIN REPLICATION PASSWORD '…';\n{}\n{}\n"
                     "-- The first run creates slot {}: SELECT pg_drop_replication_slot('{}')\n"
                     "-- removes it when the pipeline is given up.\n",
                     to->database(), role, grants(tables, role), publications(source, tables),
                     source.slot_name, source.slot_name);
}

} // namespace cdc::sources::postgres
