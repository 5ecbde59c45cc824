#pragma once

#include <functional>
#include <memory>

#include "config/config.hpp"
#include "supervision/pipeline_parts.hpp"

namespace cdc::cli {

/// What the lives of a pipeline are made of: the only place that knows every source.
[[nodiscard]] std::function<std::shared_ptr<supervision::pipeline_parts>(bool fresh)>
pipeline_factory(std::shared_ptr<const config::pipeline_config> config);

} // namespace cdc::cli
