#pragma once

#include "cli/arguments.hpp"

namespace cdc::cli {

/// Runs the pipelines until they have halted, a signal ends them, or, with --once, they have caught
/// up. Returns the exit status: 0; 1 when every pipeline has halted (with --once: any); 2 for a
/// mistake in the configuration.
[[nodiscard]] int run_run(const run_options& options);

} // namespace cdc::cli
