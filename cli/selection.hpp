#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "config/config.hpp"

namespace cdc::cli {

/// Reads what a command was told to read. The error says every mistake, a line each.
[[nodiscard]] result<std::vector<config::pipeline_config>> read_selection(const selection& from);

} // namespace cdc::cli
