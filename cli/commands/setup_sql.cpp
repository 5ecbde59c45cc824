#include "cli/commands/setup_sql.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "cli/selection.hpp"
#include "sources/mysql/setup_sql.hpp"
#include "sources/postgres/setup_sql.hpp"

namespace cdc::cli {

result<std::string> setup_script(const config::pipeline_config& pipeline) {
  const auto is_mysql = pipeline.source.what == config::source_config::flavor::mysql;
  auto script = is_mysql ? sources::mysql::setup_sql(pipeline.source, pipeline.syncs)
                         : sources::postgres::setup_sql(pipeline.source, pipeline.syncs);
  if (!script)
    return script;
  return fmt::format("-- For {} (cdc-actors setup-sql).\n\n{}", pipeline.file, *script);
}

int run_setup_sql(const setup_sql_options& options) {
  const auto pipelines = read_selection(options.from);
  if (!pipelines) {
    fmt::print(stderr, "{}\n", pipelines.error().detail);
    return 2;
  }
  for (const auto& each : *pipelines) {
    const auto script = setup_script(each);
    if (!script) {
      fmt::print(stderr, "cdc-actors: {}\n", script.error().detail);
      return 1;
    }
    fmt::print("{}{}", &each == &pipelines->front() ? "" : "\n", *script);
  }
  return 0;
}

} // namespace cdc::cli
