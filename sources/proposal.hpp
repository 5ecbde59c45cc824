#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::sources {

/// A table as a first configuration would take it.
struct proposed_table {
  relation_ptr shape;
  bool append_only = false; ///< Its rows cannot be told apart in the log.
  std::string refusal{};    ///< Why it cannot be taken; empty: it can.
  std::string remark{};     ///< What someone who takes it should know; empty: nothing.
};

struct proposal {
  std::string database;               ///< Empty: all that the server has.
  std::string server;                 ///< For messages: `host:port/dbname as user`.
  std::vector<proposed_table> tables; ///< By schema and name.
};

/// The tables that `names` name, each once: by `schema.name`, or by a name that only one schema
/// has. An error says every name that means no table, or several.
[[nodiscard]] result<std::vector<table_id>> find_named(std::span<const table_id> tables,
                                                       std::span<const std::string> names);

} // namespace cdc::sources
