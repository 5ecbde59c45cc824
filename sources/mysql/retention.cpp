#include "sources/mysql/retention.hpp"

#include <algorithm>
#include <cmath>

#include "sources/mysql/connection.hpp"

namespace cdc::sources::mysql {

result<std::vector<binlog_file>> read_binlogs(connection& on) {
  const auto found = on.query("SHOW BINARY LOGS", "list the binlog's files");
  if (!found)
    return tl::unexpected(found.error());
  std::vector<binlog_file> out;
  for (std::size_t row = 0; row < found->size(); ++row)
    out.push_back({std::string{found->text(row, 0)}, found->number<std::uint64_t>(row, 1)});
  return out;
}

result<std::chrono::seconds> read_kept(connection& on) {
  const auto found =
      on.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('binlog_expire_logs_seconds', "
               "'expire_logs_days', 'binlog_expire_logs_auto_purge')",
               "ask how long the log is kept");
  if (!found)
    return tl::unexpected(found.error());
  std::chrono::seconds out{0};
  for (std::size_t row = 0; row < found->size(); ++row) {
    const auto name = found->text(row, 0);
    if (name.ends_with("auto_purge") && !found->flag(row, 1))
      return std::chrono::seconds{0};
    if (name.ends_with("seconds"))
      out = std::max(out, std::chrono::seconds{found->number<std::int64_t>(row, 1)});
    if (name.ends_with("days")) // MariaDB's can be a part of one.
      out =
          std::max(out, std::chrono::seconds{std::llround(found->number<double>(row, 1) * 86'400)});
  }
  return out;
}

result<log_pressure> retention_watch::judge(const std::vector<binlog_file>& files,
                                            const coordinates& at, position needed) {
  log_pressure out;
  if (files.empty() || needed == position{})
    return out;
  std::size_t needed_files = 0;
  for (const auto& file : files) {
    const auto begin = at.token(file.name, 0);
    if (!begin)
      return tl::unexpected(begin.error());
    if (&file == &files.front()) {
      if (!first_)
        first_ = *begin;
      out.status = needed < *begin    ? log_pressure::state::lost
                   : *first_ < *begin ? log_pressure::state::extended
                                      : log_pressure::state::reserved;
    }
    const auto end = position{begin->token + file.size};
    if (end <= needed)
      continue;
    ++needed_files;
    out.retained_bytes += end.token - std::max(*begin, needed).token;
  }
  if (out.status == log_pressure::state::extended &&
      (needed_files < files.size() || files.size() == 1))
    out.status = log_pressure::state::reserved;
  return out;
}

} // namespace cdc::sources::mysql
