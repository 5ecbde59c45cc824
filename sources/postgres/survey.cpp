#include "sources/postgres/survey.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/chosen_tables.hpp"
#include "sources/postgres/slots.hpp"

namespace cdc::sources::postgres {

namespace {

constexpr int oldest_version = 140000;
constexpr std::size_t names_shown = 5;

constexpr auto read_server = R"(
  SELECT pg_catalog.current_setting('wal_level'), pg_catalog.pg_is_in_recovery(),
         current_user::text, r.rolsuper OR r.rolreplication OR EXISTS (
           SELECT FROM pg_catalog.pg_roles x
           WHERE x.rolname = 'rds_replication' AND pg_catalog.pg_has_role(x.oid, 'MEMBER')),
         EXISTS (SELECT FROM pg_catalog.pg_roles x WHERE x.rolname = 'rds_replication'),
         pg_catalog.current_setting('max_slot_wal_keep_size'),
         pg_catalog.current_setting('server_version')
  FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)";

constexpr auto read_long_transactions = R"(
  SELECT coalesce('pid ' || pid, 'prepared transaction ' || pg_catalog.quote_literal(gid)),
         pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - since)::bigint
  FROM (SELECT pid, NULL AS gid, xact_start AS since FROM pg_catalog.pg_stat_activity
        WHERE backend_xid IS NOT NULL
        UNION ALL SELECT NULL, gid, prepared FROM pg_catalog.pg_prepared_xacts) AS t
  WHERE since < pg_catalog.clock_timestamp() - interval '10 seconds' ORDER BY since LIMIT 5)";

// What a publication FOR ALL TABLES does to tables nobody thought of.
constexpr auto read_bare_tables = R"(
  SELECT n.nspname, c.relname
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND c.oid >= 16384 AND c.relreplident <> 'f'
    AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i
                    WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
                      AND CASE c.relreplident WHEN 'd' THEN i.indisprimary
                                              WHEN 'i' THEN i.indisreplident END)
  ORDER BY 1, 2)";

/// The role's name.
result<std::string> judge_server(connection& on, survey& into) {
  const auto found = on.query(read_server, {}, "read the server's settings");
  if (!found)
    return tl::unexpected(found.error());
  if (found->empty())
    return fail(errc::permission_denied, "{}: the role is not in pg_roles", on.describe());
  const std::string role{found->text(0, 2)};
  const auto version = found->text(0, 6);
  if (on.server_version() < oldest_version)
    into.bad(errc::source_misconfigured,
             fmt::format("PostgreSQL {} at {} is too old: 14 or later is needed", version,
                         on.describe()));
  else
    into.good(fmt::format("PostgreSQL {} at {}", version, on.describe()));
  if (found->text(0, 0) != "logical")
    into.bad(errc::source_misconfigured,
             fmt::format("wal_level is {}: ALTER SYSTEM SET wal_level = 'logical'; and restart the "
                         "server",
                         found->text(0, 0)));
  else
    into.good("wal_level is logical");
  if (found->flag(0, 1))
    into.bad(errc::source_misconfigured,
             fmt::format("{} is a standby: connect to its primary", on.describe()));
  if (!found->flag(0, 3))
    into.bad(errc::permission_denied,
             found->flag(0, 4) ? fmt::format("{} may not replicate: GRANT rds_replication TO {};",
                                             role, quote_identifier(role))
                               : fmt::format("{} may not replicate: ALTER ROLE {} REPLICATION;",
                                             role, quote_identifier(role)));
  else
    into.good(role + " may replicate");
  if (found->text(0, 5) == "-1")
    into.warn(
        "max_slot_wal_keep_size is not set: a pipeline that stands still lets the server's log "
        "grow until its disk is full");
  return role;
}

// -- publications ---------------------------------------------------------------------------------

using wanted_tables = std::vector<wanted_table>;

result<void> warn_of_bare_tables(connection& on, const publication_state& is, survey& into) {
  if (!is.all_tables || (!is.updates && !is.deletes))
    return {};
  const auto found = on.query(read_bare_tables, {}, "look for tables without a replica identity");
  if (!found)
    return tl::unexpected(found.error());
  if (found->empty())
    return {};
  std::string names;
  for (int row = 0; row < found->size() && row < static_cast<int>(names_shown); ++row)
    names += fmt::format("{}{}.{}", row == 0 ? "" : ", ", found->text(row, 0), found->text(row, 1));
  into.warn(fmt::format("publication {} is FOR ALL TABLES: UPDATE and DELETE fail on {} table{} "
                        "without a replica identity: {}{}",
                        is.name, found->size(), found->size() == 1 ? "" : "s", names,
                        found->size() > static_cast<int>(names_shown) ? ", …" : ""));
  return {};
}

/// A missing publication will be made, if the role may.
result<void> judge_creation(connection& admin, const std::string& statement,
                            std::span<const table_standing> tables, publishing what, survey& into) {
  const auto found = admin.run("SELECT pg_catalog.has_database_privilege("
                               "pg_catalog.current_database(), 'CREATE'), current_user::text,"
                               " pg_catalog.quote_ident(pg_catalog.current_database())",
                               "read the role's rights");
  if (!found)
    return tl::unexpected(found.error());
  const auto role = std::string{found->text(0, 1)};
  std::string foreign;
  for (const auto& each : tables) {
    const auto belongs = (what == publishing::insert_only) == each.chosen.append_only;
    if (belongs && !each.is_owned)
      foreign += fmt::format("{}{} (of {})", foreign.empty() ? "" : ", ",
                             to_string(each.chosen.shape->table), each.owner);
  }
  if (!found->flag(0, 0))
    into.bad(
        errc::permission_denied,
        fmt::format("{} may not create a publication: GRANT CREATE ON DATABASE {} TO {}; or let "
                    "a stronger role run: {}",
                    role, found->text(0, 2), quote_identifier(role), statement));
  if (!foreign.empty())
    into.bad(errc::permission_denied,
             fmt::format("{} may not publish tables it does not own, {}: let their owner or a "
                         "superuser run: {}",
                         role, foreign, statement));
  if (found->flag(0, 0) && foreign.empty())
    into.good((refusal(into) ? "would run: " : "will run: ") + statement);
  return {};
}

result<void> judge_publication(connection& on, connection& admin, const std::string& name,
                               publishing what, const wanted_tables& tables,
                               const wanted_tables& tolerated,
                               const std::optional<publication_state>& is,
                               std::span<const table_standing> standings, survey& into) {
  if (tables.empty())
    return {};
  if (!is) {
    auto statement = create_publication(name, what, tables, on.server_version());
    auto judged = judge_creation(admin, statement, standings, what, into);
    into.publications.push_back({name, std::move(statement)});
    return judged;
  }
  into.publications.push_back({name, std::nullopt});
  const auto found = differences(*is, what, tables, tolerated);
  for (const auto& difference : found)
    into.bad(errc::source_misconfigured, difference);
  if (found.empty())
    into.good(fmt::format("publication {} carries {} table{}", name, tables.size(),
                          tables.size() == 1 ? "" : "s"));
  return warn_of_bare_tables(on, *is, into);
}

result<void> judge_publications(connection& on, connection& admin,
                                const config::source_config& source,
                                std::span<const table_standing> standings, survey& into) {
  const auto append_name = source.publication + "_append";
  const auto main = read_publication(on, source.publication);
  if (!main)
    return tl::unexpected(main.error());
  const auto append = read_publication(on, append_name);
  if (!append)
    return tl::unexpected(append.error());
  wanted_tables everything;
  wanted_tables inserts;
  // Append-only tables may be in the first one, if they break nothing there. One without an
  // identity is refused: no statement is to put it into a publication, and none to take it out.
  wanted_tables either;
  for (const auto& each : standings) {
    const auto covered = *main && (*main)->covers(*each.chosen.shape);
    if (!each.chosen.append_only)
      (each.wanted.has_identity ? everything : either).push_back(each.wanted);
    else if (covered && ((*main)->all_tables || each.wanted.has_identity))
      either.push_back(each.wanted);
    else
      inserts.push_back(each.wanted);
  }
  // Tables that only the append-only sections take may all stand in the first one.
  if (everything.empty() && !either.empty())
    into.publications.push_back({source.publication, std::nullopt});
  if (auto judged = judge_publication(on, admin, source.publication, publishing::everything,
                                      everything, either, *main, standings, into);
      !judged)
    return judged;
  return judge_publication(on, admin, append_name, publishing::insert_only, inserts, either,
                           *append, standings, into);
}

// -- the slot -------------------------------------------------------------------------------------

result<void> judge_missing_slot(connection& on, const std::string& name, survey& into) {
  const auto room = on.run("SELECT pg_catalog.count(*), "
                           "pg_catalog.current_setting('max_replication_slots')::bigint"
                           " FROM pg_catalog.pg_replication_slots",
                           "count the replication slots");
  if (!room)
    return tl::unexpected(room.error());
  if (room->number<std::int64_t>(0, 0) >= room->number<std::int64_t>(0, 1))
    into.bad(errc::source_misconfigured,
             fmt::format("all {} replication slots are taken: raise max_replication_slots, or drop "
                         "one with pg_drop_replication_slot()",
                         room->text(0, 1)));
  else
    into.good(fmt::format("slot {} will be created", name));
  const auto found = on.run(read_long_transactions, "look for long transactions");
  if (!found)
    return tl::unexpected(found.error());
  for (int row = 0; row < found->size(); ++row)
    into.warn(fmt::format("creating the slot will wait for {}, open for {} s", found->text(row, 0),
                          found->text(row, 1)));
  return {};
}

} // namespace

void survey::good(std::string text) {
  findings.push_back({.severity = finding::level::good, .text = std::move(text)});
}

void survey::warn(std::string text) {
  findings.push_back({.severity = finding::level::warning, .text = std::move(text)});
}

void survey::bad(errc code, std::string text) {
  findings.push_back({.severity = finding::level::bad, .code = code, .text = std::move(text)});
}

result<stream_identity> read_identity(connection& on, const config::source_config& source) {
  const auto found = on.run("SELECT system_identifier::text, pg_catalog.current_database()"
                            " FROM pg_catalog.pg_control_system()",
                            "read the system identifier");
  if (!found)
    return tl::unexpected(found.error());
  return stream_identity{.source = "postgres",
                         .server = std::string{found->text(0, 0)},
                         .stream = source.slot_name,
                         .database = std::string{found->text(0, 1)},
                         .publication = source.publication};
}

result<survey> survey_source(connection& on, connection& admin, const config::source_config& source,
                             std::span<const config::sync_config> sections) {
  survey out;
  out.server_version = on.server_version();
  auto identity = read_identity(on, source);
  if (!identity)
    return tl::unexpected(identity.error());
  out.identity = *std::move(identity);
  const auto role = judge_server(on, out);
  if (!role)
    return tl::unexpected(role.error());
  catalogue from{on, {source.publication, source.publication + "_append"}};
  const auto listed = from.tables();
  if (!listed)
    return tl::unexpected(listed.error());
  const auto chosen = choose(*listed, sections, out.identity.database, out);
  const auto standings = read_standings(on, admin, from, sections, chosen);
  if (!standings)
    return tl::unexpected(standings.error());
  for (const auto& each : *standings)
    out.tables.push_back(each.chosen);
  judge_tables(*standings, sections, *role, out);
  if (out.tables.empty())
    out.bad(errc::source_misconfigured, "no section takes any table");
  if (auto judged = judge_publications(on, admin, source, *standings, out); !judged)
    return tl::unexpected(judged.error());
  return out;
}

result<void> survey_slot(connection& on, const config::source_config& source, survey& into) {
  const auto slot = find_slot(on, source.slot_name);
  if (!slot)
    return tl::unexpected(slot.error());
  if (!*slot)
    return judge_missing_slot(on, source.slot_name, into);
  const auto fit = check_slot(**slot, into.identity.database);
  if (fit)
    into.good(fmt::format("slot {} keeps {} MB of log", source.slot_name,
                          (*slot)->pressure.retained_bytes >> 20));
  else if (fit.error().code == errc::slot_in_use)
    into.warn(fit.error().detail + " (unless it is this very pipeline)");
  else
    into.bad(fit.error().code, fit.error().detail);
  return {};
}

std::optional<error> refusal(const survey& of) {
  std::optional<error> out;
  for (const auto& each : of.findings) {
    if (each.severity != finding::level::bad)
      continue;
    if (!out)
      out = error{each.code, each.text};
    else
      out->detail += "\n" + each.text;
  }
  return out;
}

} // namespace cdc::sources::postgres
