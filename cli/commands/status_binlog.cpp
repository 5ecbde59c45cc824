#include "cli/commands/status_binlog.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "actors/figures.hpp"
#include "cli/commands/status_log.hpp"

namespace cdc::cli::binlog {

namespace {

using sources::log_pressure;

std::string product(const sources::mysql::server_version& version) {
  return fmt::format("{} {}", version.is_mariadb ? "MariaDB" : "MySQL", version.text);
}

/// From where on the log is needed; nothing: no target has a checkpoint.
std::optional<position> needed_from(const pipeline_status& status) {
  std::optional<position> out;
  for (const auto& target : status.targets)
    if (target.resume && (!out || *target.resume < *out))
      out = target.resume;
  return out;
}

log_pressure pressure_on(const pipeline_status& status) {
  const auto from = needed_from(status);
  return from ? status.binlog->behind(*from) : log_pressure{};
}

} // namespace

std::string source_text(const pipeline_status& status) {
  return fmt::format("{}, log at {}", product(status.binlog->version),
                     spell(status, status.binlog->end));
}

std::string log_text(const pipeline_status& status) {
  const auto& log = *status.binlog;
  auto out =
      fmt::format("  log: {} {} from {} on, {}, kept {}", log.files.size(),
                  log.files.size() == 1 ? "file" : "files",
                  log.files.empty() ? "none" : log.files.front().name, spell_size(log.size()),
                  log.kept.count() == 0
                      ? std::string{"until it is purged by hand"}
                      : "for " + actors::spell_duration(static_cast<double>(log.kept.count())));
  const auto from = needed_from(status);
  if (!from)
    return out + "; nothing of it is needed yet\n";
  const auto pressure = log.behind(*from);
  out += fmt::format("; needed from {} on, {}", spell(status, *from),
                     spell_size(pressure.retained_bytes));
  if (pressure.status == log_pressure::state::lost)
    out += "\n    a part of that was purged, so what the targets lack is gone: run "
           "--fresh-start-and-load";
  return out + "\n";
}

void write_source(json::writer& to, const pipeline_status& status) {
  const auto& log = *status.binlog;
  to.member("server", log.identity.server).member("version", product(log.version));
  to.member("database", log.identity.database).member("server_id", log.identity.stream);
  write_position(to, status, "position", log.end);
}

void write_log(json::writer& to, const pipeline_status& status) {
  const auto& log = *status.binlog;
  const auto pressure = pressure_on(status);
  to.key("log").begin_object();
  to.key("oldest_file");
  if (log.files.empty())
    to.null();
  else
    to.value(log.files.front().name);
  to.member("files", std::uint64_t{log.files.size()}).member("bytes", log.size());
  to.key("kept_seconds");
  if (log.kept.count() == 0)
    to.null();
  else
    to.value(std::int64_t{log.kept.count()});
  write_position(to, status, "needed_from", needed_from(status));
  to.member("needed_bytes", pressure.retained_bytes);
  to.member("status", to_string(pressure.status)).end_object();
}

std::string too_much_retained(const pipeline_status& status, std::uint64_t max_mb) {
  const auto needed = pressure_on(status).retained_bytes;
  if (needed <= max_mb << 20)
    return {};
  return fmt::format("cdc-actors: {}: the targets still need {} of the log, more than {} MB\n",
                     status.name, spell_size(needed), max_mb);
}

} // namespace cdc::cli::binlog
