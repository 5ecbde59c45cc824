#include "sources/mysql/rights.hpp"

#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/connection.hpp"

namespace cdc::sources::mysql {

result<void> check_readable(connection& on, const table_id& table) {
  auto read = on.run(fmt::format("SELECT * FROM {} LIMIT 0", quote_table(table)),
                     "read " + to_string(table));
  if (!read && read.error().code == errc::permission_denied)
    read.error().detail += fmt::format("; GRANT SELECT ON {} TO this user", quote_table(table));
  return read;
}

} // namespace cdc::sources::mysql
