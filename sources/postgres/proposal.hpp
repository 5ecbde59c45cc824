#pragma once

#include <span>
#include <string>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "sources/proposal.hpp"

namespace cdc::sources::postgres {

using sources::proposal;
using sources::proposed_table;

/// Looks at the tables that `names` name (`schema.name`, or a name that only one schema has), or at
/// every table there is. Reads only. An error says every name that means no table, or several.
[[nodiscard]] result<proposal> propose_tables(const config::source_config& source,
                                              std::span<const std::string> names);

} // namespace cdc::sources::postgres
