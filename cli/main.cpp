#include <cstdio>
#include <variant>

#include "cli/arguments.hpp"
#include "cli/commands/actors.hpp"
#include "cli/commands/bootstrap.hpp"
#include "cli/commands/completions.hpp"
#include "cli/commands/init.hpp"
#include "cli/commands/rejects.hpp"
#include "cli/commands/run.hpp"
#include "cli/commands/setup_sql.hpp"
#include "cli/commands/status.hpp"
#include "cli/commands/switch_alias.hpp"
#include "cli/commands/validate.hpp"

namespace cdc::cli {

namespace {

int execute(const leave& what) {
  std::fputs(what.out.c_str(), stdout);
  std::fputs(what.err.c_str(), stderr);
  return what.status;
}
int execute(const run_options& options) {
  return run_run(options);
}
int execute(const validate_options& options) {
  return run_validate(options);
}
int execute(const status_options& options) {
  return run_status(options);
}
int execute(const init_options& options) {
  return run_init(options);
}
int execute(const setup_sql_options& options) {
  return run_setup_sql(options);
}
int execute(const bootstrap_options& options) {
  return run_bootstrap(options);
}
int execute(const switch_alias_options& options) {
  return run_switch_alias(options);
}
int execute(const rejects_options& options) {
  return run_rejects(options);
}
int execute(const completions_options& options) {
  return run_completions(options);
}

int execute(const actors_options& options) {
  return run_actors(options);
}

} // namespace

} // namespace cdc::cli

int main(int argc, char** argv) {
  const auto command = cdc::cli::parse_arguments(argc, argv);
  return std::visit([](const auto& options) { return cdc::cli::execute(options); }, command);
}
