#include "sources/mysql/standing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "sources/mysql/binlog/event.hpp"
#include "sources/mysql/dump.hpp"
#include "sources/mysql/endpoint.hpp"
#include "sources/mysql/setup.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr auto ways_on = "put the target back to what it was, or load anew: run "
                         "--fresh-start-and-load";

bool begins_transaction(std::byte type) noexcept {
  switch (static_cast<event_type>(type)) {
    case event_type::gtid:
    case event_type::anonymous_gtid:
    case event_type::gtid_tagged:
    case event_type::mariadb_gtid:
      return true;
    default:
      return false;
  }
}

result<connection> connect(const config::source_config& source) {
  auto to = endpoint::make(source, "status");
  if (!to)
    return tl::unexpected(to.error());
  return connection::open(*to);
}

} // namespace

std::uint64_t binlog_standing::size() const noexcept {
  return std::accumulate(
      files.begin(), files.end(), std::uint64_t{0},
      [](std::uint64_t sum, const binlog_file& each) { return sum + each.size; });
}

log_pressure binlog_standing::behind(position needed) const {
  return retention_watch{}.judge(files, at, needed).value_or(log_pressure{});
}

result<binlog_standing> read_binlog(const config::source_config& source) {
  auto identity = identify(source);
  if (!identity)
    return tl::unexpected(identity.error());
  auto on = connect(source);
  if (!on)
    return tl::unexpected(on.error());
  binlog_standing out;
  out.identity = *std::move(identity);
  out.version = on->version();
  const auto log = read_log(*on);
  if (!log)
    return tl::unexpected(log.error());
  auto files = read_binlogs(*on);
  if (!files)
    return tl::unexpected(files.error());
  out.files = *std::move(files);
  const auto kept = read_kept(*on);
  if (!kept)
    return tl::unexpected(kept.error());
  out.kept = *kept;
  auto at = coordinates::starting_in(log->end.file);
  if (!at)
    return tl::unexpected(at.error());
  out.at = *std::move(at);
  const auto end = out.at.token(log->end.file, log->end.offset);
  if (!end)
    return tl::unexpected(end.error());
  out.end = *end;
  return out;
}

result<std::optional<std::chrono::seconds>> read_age_behind(const config::source_config& source,
                                                            const log_place& from) {
  auto on = connect(source);
  if (!on)
    return tl::unexpected(on.error());
  const auto now = on->query("SELECT UNIX_TIMESTAMP()", "ask for the time");
  if (!now)
    return tl::unexpected(now.error());
  const dump_request request{.to = {}, .server_id = 0, .from = from, .gtids = {}};
  if (const auto asked = ask_for_log(*on, request); !asked)
    return tl::unexpected(asked.error());
  for (;;) {
    const auto read = next_event(*on, request);
    if (!read)
      return tl::unexpected(read.error());
    if (!*read)
      return std::nullopt;
    const auto event = **read;
    if (event.size() < event_header_size || !begins_transaction(event[4]))
      continue;
    std::uint32_t committed = 0;
    std::memcpy(&committed, event.data(), sizeof committed);
    const auto age = now->number<std::int64_t>(0, 0) - std::int64_t{committed};
    return std::chrono::seconds{std::max<std::int64_t>(age, 0)};
  }
}

std::string judge_resume(const binlog_standing& log, position resume) {
  if (log.behind(resume).status == log_pressure::state::lost)
    return fmt::format("resumes at {}, and the server has purged that (its oldest file is {}): {}",
                       to_string(log.at.place(resume)), log.files.front().name, ways_on);
  if (resume > log.end)
    return fmt::format("resumes at {}, behind the end of the server's log, {}: the log was reset, "
                       "or the source was restored: {}",
                       to_string(log.at.place(resume)), to_string(log.at.place(log.end)), ways_on);
  return {};
}

} // namespace cdc::sources::mysql
