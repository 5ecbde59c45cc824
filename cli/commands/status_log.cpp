#include "cli/commands/status_log.hpp"

#include <fmt/format.h>

#include "cli/commands/status_binlog.hpp"
#include "cli/commands/status_slots.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::cli {

namespace {

namespace mysql = sources::mysql;
namespace postgres = sources::postgres;
using origin = config::source_config::flavor;

template <class Standing>
void keep(result<Standing> seen, std::optional<Standing>& log, std::string& why) {
  if (seen)
    log = *std::move(seen);
  else
    why = seen.error().detail;
}

} // namespace

void look_at_log(const config::source_config& source, pipeline_status& into) {
  if (source.what == origin::mysql)
    keep(mysql::read_binlog(source), into.binlog, into.error);
  else
    keep(postgres::read_log(source), into.log, into.error);
}

void look_behind(const config::source_config& source, pipeline_status& into) {
  for (auto& target : into.targets) {
    if (!target.resume)
      continue;
    if (into.log)
      target.behind =
          into.log->end > *target.resume ? into.log->end.token - target.resume->token : 0;
    if (!into.binlog)
      continue;
    target.behind = into.binlog->behind(*target.resume).retained_bytes;
    target.behind_time = std::chrono::seconds{0};
    if (*target.behind > 0)
      target.behind_time = mysql::read_age_behind(source, into.binlog->at.place(*target.resume))
                               .value_or(std::nullopt);
  }
}

bool has_answered(const pipeline_status& status) noexcept {
  return status.log || status.binlog;
}

const stream_identity& identity_of(const pipeline_status& status) noexcept {
  return status.log ? status.log->identity : status.binlog->identity;
}

position log_end(const pipeline_status& status) noexcept {
  return status.log ? status.log->end : status.binlog->end;
}

bool can_spell(const pipeline_status& status) noexcept {
  return status.source == origin::postgres || status.binlog;
}

std::string spell(const pipeline_status& status, position at) {
  return status.binlog ? to_string(status.binlog->at.place(at)) : postgres::to_lsn(at);
}

std::optional<position> confirmed_at_source(const pipeline_status& status) {
  return status.log ? slots::confirmed(status) : std::nullopt;
}

std::string source_text(const pipeline_status& status) {
  return status.log ? slots::source_text(status) : binlog::source_text(status);
}

std::string log_text(const pipeline_status& status) {
  return status.log ? slots::log_text(status) : binlog::log_text(status);
}

void write_source(json::writer& to, const pipeline_status& status) {
  return status.log ? slots::write_source(to, status) : binlog::write_source(to, status);
}

void write_log(json::writer& to, const pipeline_status& status) {
  if (status.source == origin::postgres)
    slots::write_log(to, status);
  else if (status.binlog)
    binlog::write_log(to, status);
}

std::string too_much_retained(const pipeline_status& status, std::uint64_t max_mb) {
  return status.log ? slots::too_much_retained(status, max_mb)
                    : binlog::too_much_retained(status, max_mb);
}

// -- words ----------------------------------------------------------------------------------------

std::string spell_size(std::uint64_t count) {
  if (count < 10 << 10)
    return fmt::format("{} bytes", count);
  if (count < 10 << 20)
    return fmt::format("{} kB", count >> 10);
  return fmt::format("{} MB", count >> 20);
}

std::string_view to_string(sources::log_pressure::state status) noexcept {
  using state = sources::log_pressure::state;
  switch (status) {
    case state::reserved:
      return "reserved";
    case state::extended:
      return "extended";
    case state::unreserved:
      return "unreserved";
    case state::lost:
      return "lost";
    case state::unknown:
      break;
  }
  return "unknown";
}

void write_position(json::writer& to, const pipeline_status& status, std::string_view name,
                    const std::optional<position>& at) {
  to.key(name);
  if (at && can_spell(status))
    to.value(spell(status, *at));
  else
    to.null();
}

} // namespace cdc::cli
