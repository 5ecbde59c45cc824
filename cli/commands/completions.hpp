#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace cdc::cli {

/// The script that makes a shell complete the program's commands, options, their values and files.
/// Made of the description of the commands, so it never says what the program does not take.
[[nodiscard]] std::string bash_completions(const std::vector<described_command>& commands);
[[nodiscard]] std::string zsh_completions(const std::vector<described_command>& commands);

/// Prints the script. Returns the exit status.
[[nodiscard]] int run_completions(const completions_options& options);

} // namespace cdc::cli
