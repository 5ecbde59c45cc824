#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "config/config.hpp"

namespace cdc::cli {

/// Reads what a command was told to read. The error says every mistake, a line each.
[[nodiscard]] result<std::vector<config::pipeline_config>> read_selection(const selection& from);

/// What a command cannot do for MySQL, `what`, is refused with the file that asks for it.
[[nodiscard]] result<void> require_postgres(std::span<const config::pipeline_config> pipelines,
                                            std::string_view what);

} // namespace cdc::cli
