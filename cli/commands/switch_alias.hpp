#pragma once

#include "cli/arguments.hpp"

namespace cdc::cli {

/// Takes an alias from whoever has it and gives it to the one index that the configuration writes.
/// The exit status: 1 when the server does not do it, 2 for a mistake in the file or when the
/// configuration writes another number of indices.
int run_switch_alias(const switch_alias_options& options);

} // namespace cdc::cli
