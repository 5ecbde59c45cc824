#include "cli/commands/switch_alias.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/selection.hpp"
#include "sinks/aliases.hpp"

namespace cdc::cli {

namespace {

int refuse(std::string_view why) {
  fmt::print(stderr, "{}\n", why);
  return 2;
}

} // namespace

int run_switch_alias(const switch_alias_options& options) {
  const auto pipelines = read_selection(options.from);
  if (!pipelines)
    return refuse(pipelines.error().detail);
  if (pipelines->size() != 1)
    return refuse("switch-alias is about one configuration");
  const auto& only = pipelines->front();
  const auto target = std::ranges::find_if(only.targets, config::is_document_target);
  if (target == only.targets.end() || only.targets.size() != 1)
    return refuse("switch-alias needs one target, an opensearch or elasticsearch");
  if (only.syncs.size() != 1 || only.syncs.front().is_pattern)
    return refuse("switch-alias needs a configuration that writes one index: one [sync.*] section "
                  "with a table, not a pattern");
  const auto& sync = only.syncs.front();
  const auto& index = sync.into.empty() ? sync.table.name : sync.into;
  const auto former = sinks::switch_alias(*target, options.alias, index);
  if (!former) {
    fmt::print(stderr, "{}\n", former.error().detail);
    return 1;
  }
  fmt::print("{} is an alias of {} now", options.alias, index);
  if (!former->empty())
    fmt::print("; before: {}", fmt::join(*former, ", "));
  fmt::print("\n");
  return 0;
}

} // namespace cdc::cli
