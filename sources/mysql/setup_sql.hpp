#pragma once

#include <span>
#include <string>

#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::sources::mysql {

/// The script that an administrator runs once for this source: the block of my.cnf, as comments,
/// and a user with its rights. Offline: nothing of the server is known.
[[nodiscard]] result<std::string> setup_sql(const config::source_config& source,
                                            std::span<const config::sync_config> sections);

} // namespace cdc::sources::mysql
