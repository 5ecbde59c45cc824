#pragma once

#include "cli/arguments.hpp"

namespace cdc::cli {

/// What document targets refused and put aside. The exit status: 1 when a target cannot be asked,
/// or something is still refused after a replay; 2 for a mistake in a file.
int run_rejects(const rejects_options& options);

} // namespace cdc::cli
