#include "sources/mysql/standing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "sources/mysql/binlog/event.hpp"
#include "sources/mysql/dump.hpp"
#include "sources/mysql/setup.hpp"

namespace cdc::sources::mysql {

namespace {

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
  auto on = connection::open(source, "status");
  if (!on)
    return tl::unexpected(on.error());
  auto identity = identify(*on, source);
  if (!identity)
    return tl::unexpected(identity.error());
  binlog_standing out;
  out.identity = *std::move(identity);
  out.version = on->version();
  const auto last = read_log_end(*on);
  if (!last)
    return tl::unexpected(last.error());
  auto files = read_binlogs(*on);
  if (!files)
    return tl::unexpected(files.error());
  out.files = *std::move(files);
  const auto kept = read_kept(*on);
  if (!kept)
    return tl::unexpected(kept.error());
  out.kept = *kept;
  auto at = coordinates::starting_in(last->file);
  if (!at)
    return tl::unexpected(at.error());
  out.at = *std::move(at);
  const auto end = out.at.token(last->file, last->offset);
  if (!end)
    return tl::unexpected(end.error());
  out.end = *end;
  return out;
}

result<std::optional<std::chrono::seconds>> read_age_behind(const config::source_config& source,
                                                            const log_place& from) {
  auto on = connection::open(source, "status");
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

} // namespace cdc::sources::mysql
