#include "sources/mysql/proposal.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "config/table_pattern.hpp"
#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/rights.hpp"

namespace cdc::sources::mysql {

namespace {

using engines = std::set<std::string, std::less<>>;

result<engines> read_transactional_engines(connection& on) {
  const auto found =
      on.query("SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'",
               "list the engines");
  if (!found)
    return tl::unexpected(found.error());
  engines out;
  for (std::size_t row = 0; row < found->size(); ++row)
    out.emplace(found->text(row, 0));
  return out;
}

/// A name alone is one of the URL's database first.
std::vector<std::string> completed(std::span<const std::string> names,
                                   std::span<const listed_table> tables,
                                   const std::string& database) {
  std::vector<std::string> out{names.begin(), names.end()};
  for (auto& name : out) {
    const table_id meant{database, name};
    if (!config::parse_table_name(name) &&
        std::ranges::find(tables, meant, &listed_table::table) != tables.end())
      name = config::write_table_name(meant);
  }
  return out;
}

result<std::vector<listed_table>> choose(const std::vector<listed_table>& tables,
                                         std::span<const std::string> names,
                                         const std::string& database) {
  std::vector<listed_table> out;
  if (names.empty()) {
    std::ranges::copy_if(tables, std::back_inserter(out), [&](const listed_table& each) {
      return each.is_streamed() && (database.empty() || each.table.schema == database);
    });
    return out;
  }
  std::vector<table_id> there;
  for (const auto& each : tables)
    there.push_back(each.table);
  const auto named = find_named(there, completed(names, tables, database));
  if (!named)
    return tl::unexpected(named.error());
  std::string wrong;
  for (const auto& table : *named) {
    const auto& each = *std::ranges::find(tables, table, &listed_table::table);
    if (each.is_streamed())
      out.push_back(each);
    else
      wrong += fmt::format("{}{} is a {}: the log does not carry its rows",
                           wrong.empty() ? "" : "\n", to_string(table), each.kind);
  }
  if (!wrong.empty())
    return fail(errc::source_misconfigured, "{}", wrong);
  return out;
}

relation_ptr nameless(const table_id& table) {
  auto out = std::make_shared<relation>();
  out->table = table;
  return out;
}

result<proposed_table> propose(connection& on, const listed_table& table,
                               const engines& transactional) {
  proposed_table out{.shape = nameless(table.table)};
  const auto failed = [&](const error& why) -> result<proposed_table> {
    if (on.broken())
      return tl::unexpected(why);
    out.refusal = why.detail;
    return out;
  };
  if (const auto readable = check_readable(on, table.table); !readable)
    return failed(readable.error());
  const auto shape = catalogue{on}.describe(table.table);
  if (!shape)
    return failed(shape.error());
  if (!*shape) {
    out.refusal = to_string(table.table) + " is not there any more";
    return out;
  }
  out.shape = *shape;
  if (!transactional.contains(table.engine))
    out.refusal = fmt::format("{} is stored by {}, which has no snapshots: ALTER TABLE {} ENGINE = "
                              "InnoDB, or take it with allow_table_lock = true in [source], which "
                              "keeps writers away while it is read",
                              to_string(table.table), table.engine, quote_table(table.table));
  else if ((*shape)->key.empty())
    out.remark = "Without a key its rows are told apart by all their columns. If the server is "
                 "never without a commit,\nits load needs allow_table_lock = true in [source].";
  return out;
}

} // namespace

result<proposal> propose_tables(const config::source_config& source,
                                std::span<const std::string> names) {
  auto on = connection::open(source, "init");
  if (!on)
    return tl::unexpected(on.error());
  proposal out{on->database(), on->describe(), {}};
  const auto tables = catalogue{*on}.tables();
  if (!tables)
    return tl::unexpected(tables.error());
  const auto chosen = choose(*tables, names, on->database());
  if (!chosen)
    return tl::unexpected(chosen.error());
  const auto transactional = read_transactional_engines(*on);
  if (!transactional)
    return tl::unexpected(transactional.error());
  for (const auto& each : *chosen) {
    auto table = propose(*on, each, *transactional);
    if (!table)
      return tl::unexpected(table.error());
    out.tables.push_back(*std::move(table));
  }
  return out;
}

} // namespace cdc::sources::mysql
