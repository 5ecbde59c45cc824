#pragma once

#include <optional>

#include "sinks/standing.hpp"

namespace cdc::sinks::ndjson {

/// Of a file that exists.
[[nodiscard]] result<std::optional<standing>> read_standing(const config::target_config& target);

} // namespace cdc::sinks::ndjson
