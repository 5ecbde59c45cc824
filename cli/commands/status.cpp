#include "cli/commands/status.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "actors/figures.hpp"
#include "cli/commands/status_log.hpp"
#include "cli/selection.hpp"
#include "cli/terminal.hpp"
#include "engine/engine.hpp"
#include "messages/json.hpp"
#include "messages/load.hpp"
#include "messages/record_names.hpp"
#include "sources/mysql/setup.hpp"
#include "sources/mysql/standing.hpp"
#include "sources/postgres/setup.hpp"
#include "supervision/set_up.hpp"

namespace cdc::cli {

namespace {

using origin = config::source_config::flavor;

// -- looking --------------------------------------------------------------------------------------

void count_loads(const sink_state& state, target_status& into) {
  for (const auto& [name, value] : state.records) {
    if (!name.starts_with(progress_prefix))
      continue;
    const auto progress = parse_progress(value);
    if (progress && progress->is_left)
      continue;
    ++into.tables_begun;
    if (progress && progress->finished())
      into.loaded.insert(name.substr(progress_prefix.size()));
  }
  into.listed = state.refetch.size();
}

target_status look_at_target(const config::target_config& target, const pipeline_status& of) {
  target_status out;
  out.name = target.name;
  out.flavor = config::to_string(target.what);
  out.path = config::location_of(target);
  out.keeps_checkpoint = sinks::keeps_checkpoint(target);
  const auto kept = sinks::read_standing(
      target, {std::string{config::to_string(of.source)}, {}, of.slot, {}, {}});
  if (!kept) {
    out.error = kept.error().detail;
    return out;
  }
  if (!*kept)
    return out;
  if (const auto& is = (*kept)->stream; has_answered(of) && is != identity_of(of)) {
    out.error = of.source == origin::mysql
                    ? fmt::format("was written from another stream, of server {}", is.server)
                    : fmt::format("was written from another stream, slot {} of database {}",
                                  is.stream, is.database);
    return out;
  }
  if ((*kept)->state.resume)
    out.resume = (*kept)->state.resume->resume;
  out.written_at = (*kept)->written_at;
  count_loads((*kept)->state, out);
  return out;
}

// -- words ----------------------------------------------------------------------------------------

std::string age(std::int64_t written_at, std::chrono::system_clock::time_point now) {
  const auto then = std::chrono::system_clock::time_point{std::chrono::microseconds{written_at}};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
  if (seconds < 120)
    return fmt::format("{} s ago", std::max<std::int64_t>(seconds, 0));
  if (seconds < 7200)
    return fmt::format("{} min ago", seconds / 60);
  return fmt::format("{} h ago", seconds / 3600);
}

std::string lag_of(const target_status& target) {
  if (!target.behind)
    return {};
  if (*target.behind == 0)
    return ", caught up";
  auto out = fmt::format(", {} behind", spell_size(*target.behind));
  if (target.behind_time)
    out += fmt::format(", the oldest change {} old",
                       actors::spell_duration(static_cast<double>(target.behind_time->count())));
  return out;
}

std::string without_checkpoint(const pipeline_status& status, const target_status& target) {
  if (target.keeps_checkpoint)
    return ": no checkpoint yet; a run begins with the load";
  return status.binlog ? ": its position is known to the running process only"
                       : ": its position is the slot's";
}

std::string target_line(const pipeline_status& status, const target_status& target,
                        std::chrono::system_clock::time_point now) {
  auto out = fmt::format("  {}: {}{}{}", target.name, target.flavor, target.path.empty() ? "" : " ",
                         target.path);
  if (!target.error.empty())
    return out + ": " + target.error + "\n";
  if (target.resume) {
    if (can_spell(status))
      out += " at " + spell(status, *target.resume);
    out += lag_of(target);
    if (target.written_at)
      out += ", written " + age(*target.written_at, now);
  } else {
    out += without_checkpoint(status, target);
  }
  if (target.loaded.size() < target.tables_begun)
    out +=
        fmt::format(", loading: {} of {} tables done", target.loaded.size(), target.tables_begun);
  if (target.listed > 0)
    out += fmt::format(", {} rows to be read again", target.listed);
  return out + "\n";
}

// -- JSON -----------------------------------------------------------------------------------------

void write_target(json::writer& to, const pipeline_status& status, const target_status& target) {
  to.begin_object().member("name", target.name).member("flavor", target.flavor);
  if (!target.path.empty())
    to.member("path", target.path);
  write_position(to, status, "position", target.resume);
  if (target.behind)
    to.member("behind_bytes", *target.behind);
  if (target.behind_time)
    to.member("behind_seconds", std::int64_t{target.behind_time->count()});
  if (target.written_at) {
    const std::chrono::sys_time<std::chrono::microseconds> at{
        std::chrono::microseconds{*target.written_at}};
    to.member("written_at",
              fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", std::chrono::floor<std::chrono::seconds>(at)));
  }
  to.member("tables_loaded", std::uint64_t{target.loaded.size()});
  to.member("tables_begun", std::uint64_t{target.tables_begun});
  to.member("rows_to_read_again", std::uint64_t{target.listed});
  if (!target.error.empty())
    to.member("error", target.error);
  to.end_object();
}

void write_pipeline(json::writer& to, const pipeline_status& status) {
  to.begin_object().member("name", status.name).member("file", status.file);
  if (has_answered(status)) {
    to.key("source").begin_object();
    write_source(to, status);
    to.end_object();
    to.member("caught_up", has_reached(status, {log_end(status), {}}));
  } else {
    to.member("error", status.error);
  }
  to.key("targets").begin_array();
  for (const auto& target : status.targets)
    write_target(to, status, target);
  to.end_array();
  write_log(to, status);
  to.end_object();
}

// -- the command ----------------------------------------------------------------------------------

bool is_readable(const pipeline_status& status) {
  return has_answered(status) &&
         std::ranges::all_of(status.targets,
                             [](const target_status& target) { return target.error.empty(); });
}

std::vector<pipeline_status> look_at_all(const std::vector<config::pipeline_config>& pipelines) {
  std::vector<pipeline_status> out;
  for (const auto& each : pipelines)
    out.push_back(look_at(each));
  return out;
}

// What the source has now: a writer that goes on must not move the goal.
std::optional<goal> goal_of(const config::pipeline_config& pipeline) {
  goal out;
  std::vector<relation_ptr> shapes;
  if (pipeline.source.what == origin::mysql) {
    const auto log = sources::mysql::read_binlog(pipeline.source);
    if (!log)
      return std::nullopt;
    out.at = log->end;
    for (const auto& table : sources::mysql::inspect(pipeline.source, pipeline.syncs).tables)
      shapes.push_back(table.shape);
  } else {
    const auto source = sources::postgres::inspect(pipeline.source, pipeline.syncs);
    if (!source.log)
      return std::nullopt;
    out.at = source.log->end;
    for (const auto& table : source.tables)
      shapes.push_back(table.shape);
  }
  for (const auto& shape : shapes)
    if (const auto target = supervision::map_shape(pipeline, shape); target && *target)
      out.tables.push_back((*target)->name);
  return out;
}

bool have_all_reached(const std::vector<pipeline_status>& all,
                      const std::vector<std::optional<goal>>& goals) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!goals[i] || !has_reached(all[i], *goals[i]))
      return false;
  return true;
}

std::vector<pipeline_status> wait_for(const std::vector<config::pipeline_config>& pipelines,
                                      std::chrono::seconds timeout, bool& caught_up) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::vector<std::optional<goal>> goals(pipelines.size());
  for (;;) {
    for (std::size_t i = 0; i < pipelines.size(); ++i)
      if (!goals[i])
        goals[i] = goal_of(pipelines[i]);
    auto all = look_at_all(pipelines);
    caught_up = have_all_reached(all, goals);
    if (caught_up || std::chrono::steady_clock::now() >= deadline)
      return all;
    std::this_thread::sleep_for(std::chrono::milliseconds{250});
  }
}

bool retains_too_much(const std::vector<pipeline_status>& all, std::uint64_t max_mb) {
  std::string said;
  for (const auto& each : all)
    if (has_answered(each))
      said += too_much_retained(each, max_mb);
  say(stderr, said);
  return !said.empty();
}

} // namespace

pipeline_status look_at(const config::pipeline_config& pipeline) {
  pipeline_status out;
  out.name = pipeline.source.name;
  out.file = pipeline.file;
  out.source = pipeline.source.what;
  out.slot = out.source == origin::mysql ? std::to_string(pipeline.source.server_id)
                                         : pipeline.source.slot_name;
  look_at_log(pipeline.source, out);
  for (const auto& target : pipeline.targets)
    out.targets.push_back(look_at_target(target, out));
  look_behind(pipeline.source, out);
  return out;
}

bool has_reached(const pipeline_status& status, const goal& wanted) {
  return std::ranges::all_of(status.targets, [&](const target_status& target) {
    if (!target.keeps_checkpoint)
      return confirmed_at_source(status) >= std::optional{wanted.at};
    return target.resume && *target.resume >= wanted.at &&
           target.loaded.size() == target.tables_begun &&
           std::ranges::all_of(wanted.tables, [&](const std::string& table) {
             return target.loaded.contains(table);
           });
  });
}

std::string to_text(const pipeline_status& status, std::chrono::system_clock::time_point now) {
  auto out = fmt::format("{} ({})\n", status.name, status.file);
  out += fmt::format("  source: {}\n", has_answered(status) ? source_text(status) : status.error);
  for (const auto& target : status.targets)
    out += target_line(status, target, now);
  return has_answered(status) ? out + log_text(status) : out;
}

std::string to_json(const std::vector<pipeline_status>& all) {
  std::string out;
  json::writer to{out};
  to.begin_object().key("pipelines").begin_array();
  for (const auto& each : all)
    write_pipeline(to, each);
  to.end_array().end_object();
  return out + "\n";
}

int run_status(const status_options& options) {
  const auto pipelines = read_selection(options.from);
  if (!pipelines) {
    say(stderr, fmt::format("{}\n", pipelines.error().detail));
    return 2;
  }
  auto caught_up = true;
  const auto all = options.caught_up ? wait_for(*pipelines, options.timeout, caught_up)
                                     : look_at_all(*pipelines);
  if (options.json)
    std::fputs(to_json(all).c_str(), stdout);
  else
    for (const auto& each : all)
      say(stdout, to_text(each, std::chrono::system_clock::now()));
  if (options.caught_up && !options.json)
    fmt::print("{}\n", caught_up ? "caught up" : "not caught up");
  const auto retains = options.max_retained_mb && retains_too_much(all, *options.max_retained_mb);
  return std::ranges::all_of(all, is_readable) && caught_up && !retains ? 0 : 1;
}

} // namespace cdc::cli
