#include <cstdio>
#include <variant>

#include "cli/arguments.hpp"
#include "cli/commands/completions.hpp"
#include "cli/commands/run.hpp"

namespace cdc::cli {

namespace {

int execute(const leave& what) {
  std::fputs(what.out.c_str(), stdout);
  std::fputs(what.err.c_str(), stderr);
  return what.status;
}
int execute(const run_options& options) { return run_run(options); }
int execute(const completions_options& options) { return run_completions(options); }

template <class Options>
int execute(const Options&) {
  std::fputs("cdc-actors: this build does not have the command\n", stderr);
  return 2;
}

} // namespace

} // namespace cdc::cli

int main(int argc, char** argv) {
  const auto command = cdc::cli::parse_arguments(argc, argv);
  return std::visit([](const auto& options) { return cdc::cli::execute(options); }, command);
}
