#include "cli/commands/status.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/selection.hpp"
#include "cli/terminal.hpp"
#include "engine/engine.hpp"
#include "messages/json.hpp"
#include "messages/load.hpp"
#include "messages/record_names.hpp"
#include "sources/postgres/catch_up_plan.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/lsn.hpp"
#include "supervision/set_up.hpp"

namespace cdc::cli {

namespace {

namespace postgres = sources::postgres;
using pressure = sources::log_pressure;

std::string_view word_of(pressure::state status) noexcept {
  switch (status) {
    case pressure::state::reserved:
      return "reserved";
    case pressure::state::extended:
      return "extended";
    case pressure::state::unreserved:
      return "unreserved";
    case pressure::state::lost:
      return "lost";
    case pressure::state::unknown:
      break;
  }
  return "unknown";
}

// As PostgreSQL prints sizes.
std::string bytes(std::uint64_t count) {
  if (count < 10 << 10)
    return fmt::format("{} bytes", count);
  if (count < 10 << 20)
    return fmt::format("{} kB", count >> 10);
  return fmt::format("{} MB", count >> 20);
}

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

target_status look_at_target(const config::target_config& target, const std::string& slot,
                             const std::optional<postgres::log_standing>& log) {
  target_status out;
  out.name = target.name;
  out.flavor = config::to_string(target.what);
  out.path = config::location_of(target);
  out.keeps_checkpoint = sinks::keeps_checkpoint(target);
  const auto kept = sinks::read_standing(target, stream_identity{"postgres", {}, slot, {}, {}});
  if (!kept) {
    out.error = kept.error().detail;
    return out;
  }
  if (!*kept)
    return out;
  if (log && (*kept)->stream != log->identity) {
    out.error = fmt::format("was written from another stream, slot {} of database {}",
                            (*kept)->stream.stream, (*kept)->stream.database);
    return out;
  }
  if ((*kept)->state.resume)
    out.resume = (*kept)->state.resume->resume;
  out.written_at = (*kept)->written_at;
  count_loads((*kept)->state, out);
  return out;
}

const postgres::slot_state* own_slot(const pipeline_status& status) {
  if (!status.log)
    return nullptr;
  const auto found = std::ranges::find(status.log->slots, status.slot, &postgres::slot_state::name);
  return found == status.log->slots.end() ? nullptr : &*found;
}

/// Which of a server's slots these are to a pipeline.
enum class slot_role : std::uint8_t { other, ours, copy };

slot_role role_of(const postgres::slot_state& slot, const std::string& ours) {
  if (slot.name == ours)
    return slot_role::ours;
  return slot.is_temporary && slot.name == postgres::copy_name(ours) ? slot_role::copy
                                                                     : slot_role::other;
}

const postgres::slot_state* own_copy(const pipeline_status& status) {
  if (!status.log)
    return nullptr;
  const auto found = std::ranges::find_if(status.log->slots, [&](const auto& slot) {
    return role_of(slot, status.slot) == slot_role::copy;
  });
  return found == status.log->slots.end() ? nullptr : &*found;
}

bool is_loading(const pipeline_status& status) {
  return std::ranges::any_of(status.targets, [](const target_status& target) {
    return target.loaded.size() < target.tables_begun;
  });
}

// As far as the server knows: who reads the slot, and what of it is left.
std::string_view mode_of(const pipeline_status& status) {
  const auto* slot = own_slot(status);
  if (own_copy(status))
    return "catch-up";
  if (!slot || !slot->active_pid)
    return "none";
  return is_loading(status) ? "load" : "stream";
}

std::uint64_t bytes_left(const pipeline_status& status) {
  const auto* from = own_copy(status);
  if (!from)
    from = own_slot(status);
  return from && status.log->end > from->confirmed ? status.log->end.token - from->confirmed.token
                                                   : 0;
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

std::string source_text(const pipeline_status& status) {
  auto out = fmt::format("database {}, log at {}", status.log->identity.database,
                         postgres::to_lsn(status.log->end));
  if (const auto mode = mode_of(status); mode != "none")
    out += fmt::format(", {}", mode);
  if (own_copy(status))
    out += fmt::format(", {} left", bytes(bytes_left(status)));
  return out;
}

std::string target_line(const target_status& target, std::chrono::system_clock::time_point now) {
  auto out = fmt::format("  {}: {}{}{}", target.name, target.flavor, target.path.empty() ? "" : " ",
                         target.path);
  if (!target.error.empty())
    return out + ": " + target.error + "\n";
  if (target.resume) {
    out += " at " + postgres::to_lsn(*target.resume);
    if (target.behind)
      out += *target.behind == 0 ? std::string{", caught up"}
                                 : fmt::format(", {} behind", bytes(*target.behind));
    if (target.written_at)
      out += ", written " + age(*target.written_at, now);
  } else {
    out += target.keeps_checkpoint ? ": no checkpoint yet; a run begins with the load"
                                   : ": its position is the slot's";
  }
  if (target.loaded.size() < target.tables_begun)
    out +=
        fmt::format(", loading: {} of {} tables done", target.loaded.size(), target.tables_begun);
  if (target.listed > 0)
    out += fmt::format(", {} rows to be read again", target.listed);
  return out + "\n";
}

std::string slot_line(const postgres::slot_state& slot, slot_role role) {
  const auto is_ours = role == slot_role::ours;
  if (role == slot_role::copy)
    return fmt::format("  slot {} (ours, for the while of a catch-up): pid {} reads it\n",
                       slot.name, slot.active_pid.value_or(0));
  auto out =
      fmt::format("  slot {}{}: {}, retains {} of log, {}", slot.name, is_ours ? " (ours)" : "",
                  slot.active_pid ? fmt::format("read by pid {}", *slot.active_pid)
                                  : std::string{"nobody reads it"},
                  bytes(slot.pressure.retained_bytes), word_of(slot.pressure.status));
  if (slot.confirmed.token != 0)
    out += ", confirmed " + postgres::to_lsn(slot.confirmed);
  if (slot.pressure.status == pressure::state::lost)
    out += is_ours ? "\n    what it kept is gone (max_slot_wal_keep_size): run "
                     "--fresh-slot-and-load"
                   : "\n    what it kept is gone (max_slot_wal_keep_size)";
  if (!is_ours && !slot.active_pid)
    out += fmt::format("\n    to drop it, if it belongs to nobody: SELECT "
                       "pg_drop_replication_slot({});",
                       postgres::quote_literal(slot.name));
  return out + "\n";
}

// -- JSON -----------------------------------------------------------------------------------------

void write_position(json::writer& to, std::string_view name, const std::optional<position>& at) {
  to.key(name);
  if (at)
    to.value(postgres::to_lsn(*at));
  else
    to.null();
}

void write_target(json::writer& to, const target_status& target) {
  to.begin_object().member("name", target.name).member("flavor", target.flavor);
  if (!target.path.empty())
    to.member("path", target.path);
  write_position(to, "position", target.resume);
  if (target.behind)
    to.member("behind_bytes", *target.behind);
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

void write_slot(json::writer& to, const postgres::slot_state& slot, slot_role role) {
  to.begin_object().member("name", slot.name).member("ours", role != slot_role::other);
  to.member("temporary", slot.is_temporary);
  to.member("plugin", slot.plugin).member("database", slot.database);
  to.member("active", slot.active_pid.has_value());
  if (slot.active_pid)
    to.member("active_pid", *slot.active_pid);
  write_position(to, "confirmed",
                 slot.confirmed.token ? std::optional{slot.confirmed} : std::nullopt);
  to.member("retained_bytes", slot.pressure.retained_bytes);
  to.member("wal_status", word_of(slot.pressure.status)).end_object();
}

void write_pipeline(json::writer& to, const pipeline_status& status) {
  to.begin_object().member("name", status.name).member("file", status.file);
  if (status.log) {
    to.key("source").begin_object().member("system_identifier", status.log->identity.server);
    to.member("database", status.log->identity.database).member("slot", status.slot);
    write_position(to, "position", status.log->end);
    to.member("reading", mode_of(status)).member("bytes_left", bytes_left(status));
    to.end_object();
    to.member("caught_up", has_reached(status, {status.log->end, {}}));
  } else {
    to.member("error", status.error);
  }
  to.key("targets").begin_array();
  for (const auto& target : status.targets)
    write_target(to, target);
  to.end_array().key("slots").begin_array();
  if (status.log)
    for (const auto& slot : status.log->slots)
      write_slot(to, slot, role_of(slot, status.slot));
  to.end_array().end_object();
}

// -- the command ----------------------------------------------------------------------------------

bool is_readable(const pipeline_status& status) {
  return status.log && std::ranges::all_of(status.targets, [](const target_status& target) {
           return target.error.empty();
         });
}

std::vector<pipeline_status> look_at_all(const std::vector<config::pipeline_config>& pipelines) {
  std::vector<pipeline_status> out;
  for (const auto& each : pipelines)
    out.push_back(look_at(each));
  return out;
}

// What the source has now: a writer that goes on must not move the goal.
std::optional<goal> goal_of(const config::pipeline_config& pipeline) {
  const auto source = postgres::inspect(pipeline.source, pipeline.syncs);
  if (!source.log)
    return std::nullopt;
  goal out{source.log->end, {}};
  for (const auto& table : source.tables)
    if (const auto target = supervision::map_shape(pipeline, table.shape); target && *target)
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
  auto out = false;
  for (const auto& each : all) {
    if (!each.log)
      continue;
    for (const auto& slot : each.log->slots) {
      // The copy keeps nothing that the slot does not keep, and goes away by itself.
      if (slot.pressure.retained_bytes <= max_mb << 20 ||
          role_of(slot, each.slot) == slot_role::copy)
        continue;
      out = true;
      say(stderr, fmt::format("cdc-actors: slot {} retains {}, more than {} MB\n", slot.name,
                              bytes(slot.pressure.retained_bytes), max_mb));
    }
  }
  return out;
}

} // namespace

pipeline_status look_at(const config::pipeline_config& pipeline) {
  pipeline_status out;
  out.name = pipeline.source.name;
  out.file = pipeline.file;
  out.slot = pipeline.source.slot_name;
  auto log = postgres::read_log(pipeline.source);
  if (log)
    out.log = *std::move(log);
  else
    out.error = log.error().detail;
  for (const auto& target : pipeline.targets) {
    auto& status = out.targets.emplace_back(look_at_target(target, out.slot, out.log));
    if (out.log && status.resume)
      status.behind = out.log->end > *status.resume ? out.log->end.token - status.resume->token : 0;
  }
  return out;
}

bool has_reached(const pipeline_status& status, const goal& wanted) {
  return std::ranges::all_of(status.targets, [&](const target_status& target) {
    if (!target.keeps_checkpoint) {
      const auto* slot = own_slot(status);
      return slot && slot->confirmed >= wanted.at;
    }
    return target.resume && *target.resume >= wanted.at &&
           target.loaded.size() == target.tables_begun &&
           std::ranges::all_of(wanted.tables, [&](const std::string& table) {
             return target.loaded.contains(table);
           });
  });
}

std::string to_text(const pipeline_status& status, std::chrono::system_clock::time_point now) {
  auto out = fmt::format("{} ({})\n", status.name, status.file);
  if (status.log)
    out += "  source: " + source_text(status) + "\n";
  else
    out += "  source: " + status.error + "\n";
  for (const auto& target : status.targets)
    out += target_line(target, now);
  if (!status.log)
    return out;
  if (!own_slot(status))
    out += fmt::format("  slot {} (ours): is not there yet; a run creates it\n", status.slot);
  for (const auto& slot : status.log->slots)
    out += slot_line(slot, role_of(slot, status.slot));
  return out;
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
  if (const auto known = require_postgres(*pipelines, "status"); !known) {
    say(stderr, fmt::format("{}\n", known.error().detail));
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
