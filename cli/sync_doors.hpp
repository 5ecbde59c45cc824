#pragma once

#include <memory>

#include "actors/http/synced.hpp"
#include "config/config.hpp"

namespace cdc::cli {

/// What /synced asks of one pipeline's servers.
[[nodiscard]] actors::http::sync_door
sync_door_of(const std::shared_ptr<const config::pipeline_config>& config);

} // namespace cdc::cli
