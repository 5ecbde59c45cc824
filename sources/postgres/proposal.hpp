#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::sources::postgres {

/// A table as a first configuration would take it.
struct proposed_table {
  relation_ptr shape;
  bool append_only = false; ///< Its rows cannot be told apart in the log.
  std::string refusal;      ///< Why it cannot be taken; empty: it can.
};

struct proposal {
  std::string database;
  std::string server;                 ///< `host:port/dbname as user`
  std::vector<proposed_table> tables; ///< By schema and name.
};

/// Looks at the tables that `names` name (`schema.name`, or a name that only one schema has), or at
/// every table there is. Reads only. An error says every name that means no table, or several.
[[nodiscard]] result<proposal> propose_tables(const config::source_config& source,
                                              std::span<const std::string> names);

} // namespace cdc::sources::postgres
