#include "cli/commands/bootstrap.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/pipeline_factory.hpp"
#include "cli/selection.hpp"
#include "sources/postgres/setup.hpp"
#include "supervision/set_up.hpp"

namespace cdc::cli {

namespace {

namespace postgres = sources::postgres;

/// A life that runs would be fenced off by this one.
result<void> check_idle(const config::pipeline_config& config) {
  const auto source = postgres::inspect(config.source, config.syncs);
  for (const auto& each : source.findings)
    if (each.severity == postgres::finding::level::bad)
      return fail(each.code, "{}", each.text);
  if (!source.log)
    return fail(errc::source_unavailable, "the source was not reached");
  const auto slot =
      std::ranges::find(source.log->slots, config.source.slot_name, &postgres::slot_state::name);
  if (slot != source.log->slots.end() && slot->active_pid)
    return fail(errc::slot_in_use, "slot {} is in use by pid {}: this pipeline runs already",
                slot->name, *slot->active_pid);
  return {};
}

result<std::shared_ptr<supervision::life_setup>>
set_up(const std::shared_ptr<const config::pipeline_config>& config) {
  if (auto idle = check_idle(*config); !idle)
    return tl::unexpected(idle.error());
  return supervision::setting_up{config, pipeline_factory(config)(false)}.run();
}

} // namespace

int run_bootstrap(const bootstrap_options& options) {
  auto pipelines = read_selection(options.from);
  if (!pipelines) {
    fmt::print(stderr, "{}\n", pipelines.error().detail);
    return 2;
  }
  if (const auto known = require_postgres(*pipelines, "bootstrap"); !known) {
    fmt::print(stderr, "{}\n", known.error().detail);
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
    fmt::print("{}: publication {} and slot {} are ready\n", config->source.name,
               config->source.publication, config->source.slot_name);
    for (const auto& branch : (*made)->branches)
      fmt::print("{}: {} {} of {} ready\n", config->source.name, branch.shapes.size(),
                 branch.shapes.size() == 1 ? "table" : "tables", branch.name);
    for (const auto& note : (*made)->notes)
      fmt::print("{}: {}\n", config->source.name, note);
  }
  return is_good ? 0 : 1;
}

} // namespace cdc::cli
