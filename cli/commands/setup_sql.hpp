#pragma once

#include <string>

#include "cli/arguments.hpp"
#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::cli {

/// What has to be run at a pipeline's source, as a script with comments. It holds no password.
[[nodiscard]] result<std::string> setup_script(const config::pipeline_config& pipeline);

/// Prints a script for each file. Returns the exit status.
[[nodiscard]] int run_setup_sql(const setup_sql_options& options);

} // namespace cdc::cli
