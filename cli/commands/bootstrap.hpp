#pragma once

#include "cli/arguments.hpp"

namespace cdc::cli {

/// Makes what a run would make before its first row. The exit status: 1 when something is in the
/// way, 2 for a mistake in a file.
int run_bootstrap(const bootstrap_options& options);

} // namespace cdc::cli
