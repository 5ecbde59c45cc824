#include "cli/commands/bootstrap.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/pipeline_source.hpp"
#include "cli/selection.hpp"
#include "sources/mysql/setup.hpp"
#include "sources/postgres/setup.hpp"
#include "supervision/set_up.hpp"

namespace cdc::cli {

namespace {

namespace postgres = sources::postgres;

bool is_mysql(const config::pipeline_config& config) noexcept {
  return config.source.what == config::source_config::flavor::mysql;
}

result<void> refuse_bad(const std::vector<sources::finding>& findings) {
  for (const auto& each : findings)
    if (each.severity == sources::finding::level::bad)
      return fail(each.code, "{}", each.text);
  return {};
}

/// A life that runs would be fenced off by this one.
result<void> check_postgres(const config::pipeline_config& config) {
  const auto source = postgres::inspect(config.source, config.syncs);
  if (auto good = refuse_bad(source.findings); !good)
    return good;
  if (!source.log)
    return fail(errc::source_unavailable, "the source was not reached");
  const auto slot =
      std::ranges::find(source.log->slots, config.source.slot_name, &postgres::slot_state::name);
  if (slot != source.log->slots.end() && slot->active_pid)
    return fail(errc::slot_in_use, "slot {} is in use by pid {}: this pipeline runs already",
                slot->name, *slot->active_pid);
  return {};
}

result<void> check_source(const config::pipeline_config& config) {
  return is_mysql(config)
             ? refuse_bad(sources::mysql::inspect(config.source, config.syncs).findings)
             : check_postgres(config);
}

std::string ready_words(const config::pipeline_config& config) {
  if (is_mysql(config))
    return fmt::format("the server is ready to be followed by server_id {}",
                       config.source.server_id);
  return fmt::format("publication {} and slot {} are ready", config.source.publication,
                     config.source.slot_name);
}

result<std::shared_ptr<supervision::life_setup>>
set_up(const std::shared_ptr<const config::pipeline_config>& config) {
  if (auto good = check_source(*config); !good)
    return tl::unexpected(good.error());
  return supervision::setting_up{config, make_source(config).make_parts(false)}.run();
}

} // namespace

int run_bootstrap(const bootstrap_options& options) {
  auto pipelines = read_selection(options.from);
  if (!pipelines) {
    fmt::print(stderr, "{}\n", pipelines.error().detail);
    return 2;
  }
  auto is_good = true;
  for (auto& each : *pipelines) {
    const auto config = std::make_shared<const config::pipeline_config>(std::move(each));
    const auto made = set_up(config);
    if (!made) {
      fmt::print(stderr, "{}: {}\n", config->source.name, made.error().detail);
      is_good = false;
      continue;
    }
    fmt::print("{}: {}\n", config->source.name, ready_words(*config));
    for (const auto& branch : (*made)->branches)
      fmt::print("{}: {} {} of {} ready\n", config->source.name, branch.shapes.size(),
                 branch.shapes.size() == 1 ? "table" : "tables", branch.name);
    for (const auto& note : (*made)->notes)
      fmt::print("{}: {}\n", config->source.name, note);
  }
  return is_good ? 0 : 1;
}

} // namespace cdc::cli
