#include "sources/postgres/catch_up_commands.hpp"

#include <fmt/format.h>

#include "sources/postgres/connection.hpp"
#include "sources/postgres/lsn.hpp"
#include "sources/postgres/replication_connection.hpp"

namespace cdc::sources::postgres {

std::string copy_command(const std::string& slot, const std::string& copy) {
  return fmt::format("SELECT pg_catalog.pg_copy_logical_replication_slot({}, {}, true)",
                     quote_literal(slot), quote_literal(copy));
}

std::string advance_command(const std::string& slot, position to) {
  return fmt::format("SELECT pg_catalog.pg_replication_slot_advance({}, '{}')", quote_literal(slot),
                     to_lsn(to));
}

std::string call_command(const std::string& copy, const pull_call& call,
                         const std::vector<std::string>& publications) {
  return fmt::format("COPY (SELECT data FROM pg_catalog.pg_logical_slot_get_binary_changes({}, "
                     "'{}', {}, 'proto_version', '1', 'publication_names', {}, 'messages', 'true'))"
                     " TO STDOUT (FORMAT binary)",
                     quote_literal(copy), to_lsn(call.until), call.rows,
                     publication_option(publications));
}

} // namespace cdc::sources::postgres
