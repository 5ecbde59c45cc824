#pragma once

#include <functional>
#include <memory>

#include "config/config.hpp"
#include "supervision/pipeline_parts.hpp"

namespace cdc::cli {

/// MySQL or MariaDB to the configured targets.
[[nodiscard]] std::function<std::shared_ptr<supervision::pipeline_parts>(bool fresh)>
mysql_factory(std::shared_ptr<const config::pipeline_config> config);

} // namespace cdc::cli
