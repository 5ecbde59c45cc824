#pragma once

#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::sources::mysql {

class connection;

/// Whether the user may read every column; the error names the GRANT. Reads no row.
[[nodiscard]] result<void> check_readable(connection& on, const table_id& table);

} // namespace cdc::sources::mysql
