#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "config/config.hpp"
#include "sources/postgres/setup.hpp"

namespace cdc::cli {

/// One line of what a look found.
using finding = sources::postgres::finding;

/// Everything that can be said of a pipeline before it runs. Creates and changes nothing.
[[nodiscard]] std::vector<finding> check(const config::pipeline_config& pipeline);

/// What keeps a target that resumes at `resume` from going on with the source's log; empty:
/// nothing.
[[nodiscard]] std::string judge_resume(const sources::postgres::log_standing& log,
                                       const std::string& slot, position resume);

/// Prints ✓, ! and ✗ lines. Returns the exit status: 0, 1 when something would keep a run from
/// working, 2 when a file says what cannot be.
[[nodiscard]] int run_validate(const validate_options& options);

} // namespace cdc::cli
