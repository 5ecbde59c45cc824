#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sources/mysql/binlog/event.hpp"
#include "sources/mysql/values/column_type.hpp"

namespace cdc::sources::mysql {

/// A column as a TABLE_MAP_EVENT describes it. What binlog_row_metadata leaves out is open: see
/// column_type's has_… and complete().
struct logged_column {
  column_type type{};
  bool is_nullable = false;
  bool is_invisible = false;
  std::string name{}; ///< UTF-8; empty unless binlog_row_metadata = FULL.
};

/// The table of the row events behind it, at the time of those.
struct table_map {
  std::uint64_t id = 0; ///< Of this opening of the table: another one has another id.
  std::string schema{};
  std::string name{};
  std::vector<logged_column> columns{};
  /// Primary key columns in key order; of a prefix key too. Empty unless metadata = FULL.
  std::vector<std::uint16_t> primary_key{};
  bool has_names = false;
};

/// Whom a TABLE_MAP_EVENT is about, without what its columns are: enough to leave out a table that
/// nobody asked for, whatever types it has. The views live as long as the event.
struct table_head {
  std::uint64_t id = 0;
  std::string_view schema{};
  std::string_view name{};
};
[[nodiscard]] result<table_head> decode_table_head(const event_view& in);

/// Decodes all of it. Two events with equal bodies describe the same: compare before decoding.
/// errc::malformed_message for a body cut short or too long for its own counts, a type or a
/// collation that we do not know.
///
/// `by` matters: to MariaDB a geometry column has a character set, and is counted among those that
/// do.
[[nodiscard]] result<table_map> decode_table_map(const event_view& in, log_writer by);

} // namespace cdc::sources::mysql
