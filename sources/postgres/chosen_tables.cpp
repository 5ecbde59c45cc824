#include "sources/postgres/chosen_tables.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "sources/postgres/connection.hpp"

namespace cdc::sources::postgres {

namespace {

// A partitioned table's rows are told apart by the identities of its leaves: the server checks
// those.
constexpr auto read_standing = R"(
  SELECT pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE'),
         (SELECT coalesce(pg_catalog.bool_and(
                   pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')), true)
          FROM pg_catalog.pg_attribute a
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
         pg_catalog.row_security_active(c.oid),
         c.relkind = 'p', c.relkind = 'r' AND c.relhassubclass,
         pg_catalog.pg_get_userbyid(c.relowner),
         (SELECT pg_catalog.string_agg(pg_catalog.format('%I.%I', n.nspname, l.relname), ', '
                                       ORDER BY n.nspname, l.relname)
          FROM pg_catalog.pg_partition_tree(CASE WHEN c.relkind = 'p' THEN c.oid END) t
          JOIN pg_catalog.pg_class l ON l.oid = t.relid
          JOIN pg_catalog.pg_namespace n ON n.oid = l.relnamespace
          WHERE t.isleaf AND l.relreplident <> 'f'
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i
                            WHERE i.indrelid = l.oid AND i.indisvalid AND i.indimmediate
                              AND CASE l.relreplident WHEN 'd' THEN i.indisprimary
                                                      WHEN 'i' THEN i.indisreplident END))
  FROM pg_catalog.pg_class c WHERE c.oid = $1::pg_catalog.oid)";

constexpr auto read_ownership = R"(
  SELECT pg_catalog.pg_has_role(c.relowner, 'USAGE')
  FROM pg_catalog.pg_class c WHERE c.oid = $1::pg_catalog.oid)";

std::string_view kind_in_words(char kind) noexcept {
  switch (kind) {
    case 'v':
      return "a view";
    case 'm':
      return "a materialized view";
    case 'f':
      return "a foreign table";
    default:
      return "unlogged or temporary";
  }
}

std::optional<std::size_t> section_of(const listed_table& table,
                                      std::span<const config::sync_config> sections) {
  const auto takes = [&](const config::sync_config& section, bool by_pattern) {
    return section.is_pattern == by_pattern &&
           config::selects(section, table.table.schema, table.table.name);
  };
  for (const auto by_pattern : {false, true}) {
    for (std::size_t i = 0; i < sections.size(); ++i) {
      if (takes(sections[i], by_pattern))
        return i;
    }
  }
  return std::nullopt;
}

bool has_identity(const relation& shape) {
  return std::ranges::any_of(shape.columns, &column::is_identity_key);
}

result<table_standing> read_one(connection& on, connection& admin, catalogue& from,
                                const config::sync_config& section, const choice& of) {
  const auto doing = "look at " + to_string(of.table.table);
  auto shape = from.describe(of.table.oid);
  if (!shape)
    return tl::unexpected(shape.error());
  if (!*shape)
    return fail(errc::source_misconfigured, "{}: {} was dropped just now", on.describe(),
                to_string(of.table.table));
  const std::array oid{std::to_string(of.table.oid)};
  const auto found = on.query(read_standing, oid, doing);
  if (!found)
    return tl::unexpected(found.error());
  const auto owned = admin.query(read_ownership, oid, doing);
  if (!owned)
    return tl::unexpected(owned.error());
  if (found->empty() || owned->empty())
    return fail(errc::source_misconfigured, "{}: {} was dropped just now", on.describe(),
                to_string(of.table.table));
  table_standing out;
  out.chosen = {.shape = *shape, .section = of.section, .append_only = section.append_only};
  out.can_use_schema = found->flag(0, 0);
  out.can_read = out.can_use_schema && found->flag(0, 1);
  out.has_row_security = found->flag(0, 2);
  out.owner = found->text(0, 5);
  out.bare_leaves = found->text(0, 6);
  out.is_owned = owned->flag(0, 0);
  out.wanted = {.shape = *shape,
                .is_partitioned = found->flag(0, 3),
                .has_heirs = found->flag(0, 4),
                .has_identity = has_identity(**shape) && out.bare_leaves.empty()};
  return out;
}

void judge_rights(const table_standing& table, const std::string& role, survey& into) {
  const auto& id = table.chosen.shape->table;
  if (!table.can_use_schema)
    into.bad(errc::permission_denied,
             fmt::format("{} may not enter the schema {}: GRANT USAGE ON SCHEMA {} TO {};", role,
                         id.schema, quote_identifier(id.schema), quote_identifier(role)));
  if (!table.can_read)
    into.bad(errc::permission_denied,
             fmt::format("{} may not read {}: GRANT SELECT ON TABLE {} TO {};", role, to_string(id),
                         quote_table(id), quote_identifier(role)));
  if (table.has_row_security)
    into.bad(errc::permission_denied,
             fmt::format("row-level security hides rows of {} from {}: ALTER ROLE {} BYPASSRLS;",
                         to_string(id), role, quote_identifier(role)));
}

/// The ways on for a table whose rows cannot be told apart in the log.
void judge_identity(const table_standing& table, survey& into) {
  if (table.wanted.has_identity || table.chosen.append_only)
    return;
  const auto& shape = *table.chosen.shape;
  const auto name = to_string(shape.table);
  const auto full = "ALTER TABLE " + quote_table(shape.table) + " REPLICA IDENTITY FULL;";
  const auto way_on = fmt::format("or set append_only = true for it, which streams inserts and "
                                  "truncates only");
  if (!table.bare_leaves.empty()) {
    into.bad(
        errc::identity_missing,
        fmt::format("rows of {} cannot be told apart in the log, so UPDATE and DELETE would "
                    "fail once it is published: its partitions {} have no usable replica "
                    "identity. Give the table a primary key, or each partition (and the table) "
                    "REPLICA IDENTITY FULL; {}",
                    name, table.bare_leaves, way_on));
    return;
  }
  const auto why = shape.identity == replica_identity::nothing ? "its REPLICA IDENTITY is NOTHING"
                                                               : "it has no usable primary key";
  into.bad(
      errc::identity_missing,
      fmt::format("rows of {} cannot be told apart in the log, so UPDATE and DELETE would fail "
                  "once it is published: {}. Give it a primary key, or {} {}",
                  name, why, full, way_on));
}

/// What happens to partitions as tables is not in the log of their root.
void warn_of_partitions(const table_standing& table, survey& into) {
  if (table.wanted.is_partitioned)
    into.warn(
        fmt::format("{} is partitioned: ATTACH PARTITION, DETACH PARTITION, DROP and TRUNCATE "
                    "of a single partition change its rows without a word in the log; the targets "
                    "keep what they have until it is loaded anew",
                    to_string(table.chosen.shape->table)));
}

/// A configured key must be in the old rows that the log carries.
void judge_configured_key(const table_standing& table, const config::sync_config& section,
                          survey& into) {
  if (section.primary_key.empty() || table.chosen.append_only || !table.wanted.has_identity)
    return;
  const auto& shape = *table.chosen.shape;
  for (const auto& name : section.primary_key) {
    const auto at = shape.find(name);
    if (!at)
      into.bad(errc::invalid_config, fmt::format("sync.{}.primary_key: {} has no column {}",
                                                 section.key, to_string(shape.table), name));
    else if (!shape.columns[*at].is_identity_key)
      into.bad(errc::identity_missing,
               fmt::format("sync.{}.primary_key: the log does not carry the old value of {}.{}: "
                           "ALTER TABLE {} REPLICA IDENTITY FULL;",
                           section.key, to_string(shape.table), name, quote_table(shape.table)));
  }
}

} // namespace

std::vector<choice> choose(std::span<const listed_table> tables,
                           std::span<const config::sync_config> sections,
                           const std::string& database, survey& into) {
  std::vector<choice> out;
  std::set<std::size_t> used;
  for (const auto& table : tables) {
    const auto section = section_of(table, sections);
    if (!section)
      continue;
    const auto& by = sections[*section];
    if (by.is_pattern && (!table.is_streamed() || table.is_partition))
      continue;
    used.insert(*section);
    if (table.is_streamed())
      out.push_back({table, *section});
    else
      into.bad(errc::source_misconfigured,
               fmt::format("sync.{}: {} is {}: the log does not carry its rows", by.key,
                           to_string(table.table), kind_in_words(table.kind)));
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (used.contains(i))
      continue;
    if (sections[i].is_pattern)
      into.warn(fmt::format("sync.{}: no table of the database {} matches, or other sections take "
                            "them all",
                            sections[i].key, database));
    else
      into.bad(errc::source_misconfigured,
               fmt::format("sync.{}: table {} does not exist in the database {}", sections[i].key,
                           to_string(sections[i].table), database));
  }
  return out;
}

result<std::vector<table_standing>> read_standings(connection& on, connection& admin,
                                                   catalogue& from,
                                                   std::span<const config::sync_config> sections,
                                                   std::span<const choice> chosen) {
  std::vector<table_standing> out;
  for (const auto& each : chosen) {
    auto standing = read_one(on, admin, from, sections[each.section], each);
    if (!standing)
      return tl::unexpected(standing.error());
    out.push_back(*std::move(standing));
  }
  return out;
}

void judge_tables(std::span<const table_standing> tables,
                  std::span<const config::sync_config> sections, const std::string& role,
                  survey& into) {
  for (const auto& table : tables) {
    judge_rights(table, role, into);
    judge_identity(table, into);
    judge_configured_key(table, sections[table.chosen.section], into);
    warn_of_partitions(table, into);
  }
}

} // namespace cdc::sources::postgres
