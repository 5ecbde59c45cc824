#pragma once

#include <span>
#include <string>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "sources/proposal.hpp"

namespace cdc::sources::mysql {

/// Looks at the tables that `names` name (`database.name`, or a name that the URL's database or
/// only one database has), or at every table of the URL's database, of all where it names none.
/// Reads only. An error says every name that means no table, or several.
[[nodiscard]] result<proposal> propose_tables(const config::source_config& source,
                                              std::span<const std::string> names);

} // namespace cdc::sources::mysql
