#include "cli/commands/rejects.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "actors/figures.hpp"
#include "cli/selection.hpp"
#include "messages/json.hpp"
#include "sinks/rejects.hpp"

namespace cdc::cli {

namespace {

/// What one target said.
struct target_rejects {
  std::string target;
  sinks::rejects held;
  std::optional<sinks::replayed> again;
};

/// Each once, though several pipelines may write it.
std::vector<config::target_config> targets_of(const std::vector<config::pipeline_config>& all) {
  std::vector<config::target_config> out;
  for (const auto& pipeline : all)
    for (const auto& target : pipeline.targets)
      if (sinks::keeps_rejects(target) &&
          std::ranges::find(out, target.servers, &config::target_config::servers) == out.end())
        out.push_back(target);
  return out;
}

result<target_rejects> ask(const config::target_config& target, const rejects_options& options) {
  target_rejects out;
  out.target = config::location_of(target);
  if (options.replay) {
    auto again = sinks::replay_rejects(target);
    if (!again)
      return tl::unexpected(again.error());
    out.again = std::move(*again);
    return out;
  }
  auto held = sinks::list_rejects(target, options.limit);
  if (!held)
    return tl::unexpected(held.error());
  out.held = std::move(*held);
  return out;
}

// -- printing -------------------------------------------------------------------------------------

void print(const sinks::reject& it) {
  fmt::print("{}/{} at {}: {}\n", it.index, actors::one_line(it.document), it.position,
             actors::one_line(it.reason));
}

void print(const target_rejects& of, std::size_t limit) {
  const auto& shown = of.again ? of.again->refused : of.held.some;
  const auto total = of.again ? of.again->refused.size() : of.held.total;
  const auto count = std::min(limit, shown.size());
  std::for_each(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(count),
                [](const auto& each) { print(each); });
  if (count < total)
    fmt::print("… and {} more\n", total - count);
  if (of.again)
    fmt::print("{}: replayed {}, still refused {}\n", of.target, of.again->taken,
               of.again->refused.size());
  else
    fmt::print("{}: {} put aside\n", of.target, total);
}

void write(json::writer& to, const std::vector<sinks::reject>& all, std::size_t limit) {
  to.begin_array();
  for (std::size_t i = 0; i < std::min(limit, all.size()); ++i)
    to.begin_object()
        .member("index", all[i].index)
        .member("id", all[i].document)
        .member("position", all[i].position)
        .member("action", all[i].action)
        .member("reason", all[i].reason)
        .member("at_epoch", all[i].at)
        .end_object();
  to.end_array();
}

void print_json(const std::vector<target_rejects>& all, std::size_t limit) {
  std::string out;
  json::writer to{out};
  to.begin_array();
  for (const auto& each : all) {
    to.begin_object().member("target", each.target);
    if (each.again) {
      to.member("replayed", std::uint64_t{each.again->taken});
      to.member("still_refused", std::uint64_t{each.again->refused.size()});
    } else {
      to.member("total", std::uint64_t{each.held.total});
    }
    to.key("rejects");
    write(to, each.again ? each.again->refused : each.held.some, limit);
    to.end_object();
  }
  to.end_array();
  fmt::print("{}\n", out);
}

} // namespace

int run_rejects(const rejects_options& options) {
  const auto pipelines = read_selection(options.from);
  if (!pipelines) {
    fmt::print(stderr, "{}\n", pipelines.error().detail);
    return 2;
  }
  const auto targets = targets_of(*pipelines);
  if (targets.empty()) {
    fmt::print(stderr, "no target here puts documents aside: that is for opensearch and "
                       "elasticsearch\n");
    return 2;
  }
  std::vector<target_rejects> said;
  auto is_good = true;
  for (const auto& target : targets) {
    auto one = ask(target, options);
    if (!one) {
      fmt::print(stderr, "{}\n", one.error().detail);
      is_good = false;
      continue;
    }
    is_good = is_good && (!one->again || one->again->refused.empty());
    said.push_back(std::move(*one));
  }
  if (options.json)
    print_json(said, options.limit);
  else
    for (const auto& each : said)
      print(each, options.limit);
  return is_good ? 0 : 1;
}

} // namespace cdc::cli
