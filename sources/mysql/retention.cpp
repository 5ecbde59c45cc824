#include "sources/mysql/retention.hpp"

#include <algorithm>

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
  if (out.status == log_pressure::state::extended && needed_files < files.size())
    out.status = log_pressure::state::reserved;
  return out;
}

} // namespace cdc::sources::mysql
