#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/setup.hpp"
#include "sources/postgres/survey.hpp"

namespace cdc::sources::postgres {

/// A table that a section takes, with what its rows and its owner have to say.
struct table_standing {
  chosen_table chosen;
  wanted_table wanted;
  bool can_read = true; ///< USAGE on the schema and SELECT on every column.
  bool can_use_schema = true;
  bool has_row_security = false; ///< Policies would hide rows from this role.
  bool is_owned = true;          ///< By the role of the connection that asked.
  std::string owner;
  std::string bare_leaves; ///< Leaves without a usable replica identity, by name.
};

/// One entry of a section's list and the tables it takes; index into the sections.
struct choice {
  listed_table table;
  std::size_t section = 0;
};

/// Which table each section takes: one that names it wins over patterns, and of those the first.
/// What a section names and cannot have goes to `into` as bad, a pattern without any table as a
/// warning.
[[nodiscard]] std::vector<choice> choose(std::span<const listed_table> tables,
                                         std::span<const config::sync_config> sections,
                                         const std::string& database, survey& into);

/// Describes the chosen tables. `admin` is asked for ownership.
[[nodiscard]] result<std::vector<table_standing>>
read_standings(connection& on, connection& admin, catalogue& from,
               std::span<const config::sync_config> sections, std::span<const choice> chosen);

/// What of each table keeps it from being copied or streamed.
void judge_tables(std::span<const table_standing> tables,
                  std::span<const config::sync_config> sections, const std::string& role,
                  survey& into);

} // namespace cdc::sources::postgres
