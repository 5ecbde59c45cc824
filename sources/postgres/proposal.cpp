#include "sources/postgres/proposal.hpp"

#include <algorithm>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/chosen_tables.hpp"
#include "sources/postgres/connection.hpp"

namespace cdc::sources::postgres {

namespace {

config::sync_config every_table() {
  config::sync_config out;
  out.key = "all";
  out.tables = {"*.*"};
  out.is_pattern = true;
  return out;
}

config::sync_config just(const table_id& table) {
  config::sync_config out;
  out.key = table.name;
  out.table = table;
  out.tables = {to_string(table)};
  return out;
}

result<std::vector<config::sync_config>> sections_for(std::span<const listed_table> tables,
                                                      std::span<const std::string> names) {
  std::vector<config::sync_config> out;
  std::vector<table_id> there;
  for (const auto& each : tables)
    there.push_back(each.table);
  const auto named = find_named(there, names);
  if (!named)
    return tl::unexpected(named.error());
  for (const auto& table : *named)
    out.push_back(just(table));
  if (names.empty())
    out.push_back(every_table());
  return out;
}

/// All that is bad about one table, and whether it is only that rows cannot be told apart.
struct verdict {
  std::string text;
  bool is_identity = true;
};

verdict judge(const table_standing& table, std::span<const config::sync_config> sections,
              const std::string& role) {
  survey found;
  judge_tables({&table, 1}, sections, role, found);
  verdict out;
  for (const auto& each : found.findings) {
    if (each.severity != finding::level::bad)
      continue;
    out.text += (out.text.empty() ? "" : "; ") + each.text;
    out.is_identity = out.is_identity && each.code == errc::identity_missing;
  }
  return out;
}

proposed_table propose(table_standing table, std::span<const config::sync_config> sections,
                       const std::string& role) {
  proposed_table out;
  out.shape = table.chosen.shape;
  auto found = judge(table, sections, role);
  if (!found.text.empty() && found.is_identity) {
    out.append_only = table.chosen.append_only = true;
    found = judge(table, sections, role);
  }
  out.refusal = found.text;
  return out;
}

} // namespace

result<proposal> propose_tables(const config::source_config& source,
                                std::span<const std::string> names) {
  const auto to = conninfo::make(source, purpose::query, "init");
  if (!to)
    return tl::unexpected(to.error());
  auto on = connection::open(*to);
  if (!on)
    return tl::unexpected(on.error());
  const auto self = on->run("SELECT pg_catalog.current_database(), current_user::text",
                            "read the database's name");
  if (!self)
    return tl::unexpected(self.error());
  proposal out{std::string{self->text(0, 0)}, on->describe(), {}};
  catalogue from{*on, {}};
  const auto tables = from.tables();
  if (!tables)
    return tl::unexpected(tables.error());
  const auto sections = sections_for(*tables, names);
  if (!sections)
    return tl::unexpected(sections.error());
  survey found;
  const auto chosen = choose(*tables, *sections, out.database, found);
  if (const auto refused = refusal(found))
    return tl::unexpected(*refused);
  auto standings = read_standings(*on, *on, from, *sections, chosen);
  if (!standings)
    return tl::unexpected(standings.error());
  for (auto& each : *standings)
    out.tables.push_back(propose(std::move(each), *sections, std::string{self->text(0, 1)}));
  return out;
}

} // namespace cdc::sources::postgres
