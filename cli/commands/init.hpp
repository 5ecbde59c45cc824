#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "config/config.hpp"
#include "messages/error.hpp"
#include "sources/proposal.hpp"

namespace cdc::cli {

/// `sqlite:PATH`, `ndjson:PATH`, `opensearch:URL`, `elasticsearch:URL` or `null`.
[[nodiscard]] result<config::target_config> parse_target(const std::string& text);

/// A configuration for what was found, as text. What cannot be taken stands in comments with the
/// reason. It holds the name of the variable and never the URL.
[[nodiscard]] std::string write_configuration(const init_options& options,
                                              config::source_config::flavor what,
                                              const config::target_config& target,
                                              const sources::proposal& found);

/// The same without a database: the tables as they were named, or all of one schema.
[[nodiscard]] result<std::string> write_configuration(const init_options& options,
                                                      const config::target_config& target);

/// Writes a first configuration to standard output, or to a file that is not there yet. Returns the
/// exit status.
[[nodiscard]] int run_init(const init_options& options);

} // namespace cdc::cli
