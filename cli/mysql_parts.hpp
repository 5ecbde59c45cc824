#pragma once

#include <memory>

#include "cli/pipeline_source.hpp"
#include "config/config.hpp"

namespace cdc::cli {

/// MySQL or MariaDB to the configured targets.
[[nodiscard]] pipeline_source
mysql_source(const std::shared_ptr<const config::pipeline_config>& config);

} // namespace cdc::cli
