#pragma once

#include <span>
#include <string>

#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::sources::postgres {

/// The script that a superuser runs once for this source: setting, role, rights and publication.
/// Offline: nothing of the server is known.
[[nodiscard]] result<std::string> setup_sql(const config::source_config& source,
                                            std::span<const config::sync_config> sections);

} // namespace cdc::sources::postgres
