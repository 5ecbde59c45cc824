#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/coordinates.hpp"
#include "sources/mysql/retention.hpp"

namespace cdc::sources::mysql {

/// A server's binlog, now, and how long it is kept.
struct binlog_standing {
  stream_identity identity;
  server_version version;
  coordinates at;
  position end;
  std::vector<binlog_file> files; ///< The oldest first.
  std::chrono::seconds kept{0};   ///< 0: until it is purged by hand.

  [[nodiscard]] std::uint64_t size() const noexcept;
  /// Of the log behind a position; `lost` where a part of it was purged.
  [[nodiscard]] log_pressure behind(position needed) const;
};

/// Reads only.
[[nodiscard]] result<binlog_standing> read_binlog(const config::source_config& source);

/// How long ago the first transaction behind `from` was committed, by the server's clock and the
/// log's own time; nothing where there is none. Reads the log's next events, as no replica.
[[nodiscard]] result<std::optional<std::chrono::seconds>>
read_age_behind(const config::source_config& source, const log_place& from);

} // namespace cdc::sources::mysql
