#pragma once

#include <functional>
#include <memory>

#include "config/config.hpp"
#include "supervision/pipeline_parts.hpp"

namespace cdc::cli {

/// PostgreSQL to the configured targets.
[[nodiscard]] std::function<std::shared_ptr<supervision::pipeline_parts>(bool fresh)>
postgres_factory(std::shared_ptr<const config::pipeline_config> config);

} // namespace cdc::cli
