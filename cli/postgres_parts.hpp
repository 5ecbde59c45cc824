#pragma once

#include <memory>

#include "cli/pipeline_source.hpp"
#include "config/config.hpp"

namespace cdc::cli {

/// PostgreSQL to the configured targets.
[[nodiscard]] pipeline_source
postgres_source(const std::shared_ptr<const config::pipeline_config>& config);

} // namespace cdc::cli
