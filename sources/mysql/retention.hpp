#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/mysql/coordinates.hpp"
#include "sources/source.hpp"

namespace cdc::sources::mysql {

class connection;

/// One file of the binlog, as SHOW BINARY LOGS has it.
struct binlog_file {
  std::string name;
  std::uint64_t size = 0;
};

/// Every file the server still has, the oldest first.
[[nodiscard]] result<std::vector<binlog_file>> read_binlogs(connection& on);

/// How long a file is kept once it is closed; 0: until it is purged by hand.
[[nodiscard]] result<std::chrono::seconds> read_kept(connection& on);

/// Watches how near the server's purging comes to what is still needed.
///
/// A server says nothing of when it will purge a file, but files go in their order: once it was
/// seen to purge any, the oldest that is left is the next.
class retention_watch {
public:
  /// `extended` when the log is needed from the oldest file on and the server is purging. The file
  /// that is being written is never purged.
  [[nodiscard]] result<log_pressure> judge(const std::vector<binlog_file>& files,
                                           const coordinates& at, position needed);

private:
  std::optional<position> first_; ///< The begin of the oldest file when it was first asked.
};

} // namespace cdc::sources::mysql
