#include "sources/mysql/setup_sql.hpp"

#include <set>

#include "config/table_pattern.hpp"
#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/endpoint.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr auto settings = R"(-- my.cnf of the server; what it changes needs a restart.
--
--   [mysqld]
--   server_id = 1                   # any number that no other server or replica has
--   log_bin = bin
--   binlog_format = ROW
--   binlog_row_image = FULL         # or MINIMAL: then more rows are read again
--   binlog_row_metadata = FULL
--   gtid_mode = ON                  # MySQL; on a running server step by step
--   enforce_gtid_consistency = ON   # MySQL
--   binlog_expire_logs_seconds = 604800   # longer than a load and an outage take
)";

/// What the sections take: single tables, whole databases, or everything.
struct readable {
  std::set<std::string> tables, databases; ///< Quoted.
  bool everything = false;
};

readable collect(std::span<const config::sync_config> sections) {
  readable out;
  for (const auto& section : sections) {
    if (!section.is_pattern) {
      out.tables.insert(quote_table(section.table));
      out.databases.insert(quote_identifier(section.table.schema));
      continue;
    }
    for (const auto& each : section.tables) {
      const auto pattern = config::parse_table_pattern(each);
      if (!pattern || pattern->excludes)
        continue;
      const auto is_open = pattern->schema.find('\0') != std::string::npos;
      out.everything = out.everything || is_open;
      if (is_open)
        continue;
      out.tables.insert(quote_identifier(pattern->schema) + ".*");
      out.databases.insert(quote_identifier(pattern->schema));
    }
  }
  return out;
}

} // namespace

result<std::string> setup_sql(const config::source_config& source,
                              std::span<const config::sync_config> sections) {
  const auto to = endpoint::make(source, "setup");
  if (!to)
    return tl::unexpected(to.error());
  const auto user = quote_literal(to->user) + "@'%'";
  const auto wanted = collect(sections);
  auto out = fmt::format("{}\nCREATE USER {} IDENTIFIED BY '…';\n"
                         "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {};\n",
                         settings, user, user);
  if (wanted.everything)
    out += fmt::format("-- A pattern takes tables of every database: this user reads them all.\n"
                       "GRANT SELECT ON *.* TO {};\n",
                       user);
  else
    for (const auto& each : wanted.tables)
      out += fmt::format("GRANT SELECT ON {} TO {};\n", each, user);
  if (source.allow_table_lock && wanted.everything)
    out += fmt::format("GRANT LOCK TABLES ON *.* TO {};\n", user);
  else if (source.allow_table_lock)
    for (const auto& each : wanted.databases)
      out += fmt::format("GRANT LOCK TABLES ON {}.* TO {};\n", each, user);
  return out;
}

} // namespace cdc::sources::mysql
