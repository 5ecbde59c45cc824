#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "messages/error.hpp"

/// The frame of a binlog event, version 4: a header of 19 bytes, a body, and a CRC32 where the log
/// has checksums. MySQL's manual, "Binary Log Event"; MariaDB's knowledge base, "Replication
/// Protocol".
namespace cdc::sources::mysql {

/// mysql::binlog::event::Log_event_type of MySQL, and from 160 on MariaDB's own (log_event.h).
enum class event_type : std::uint8_t {
  unknown = 0,
  start_v3 = 1,
  query = 2,
  stop = 3,
  rotate = 4,
  intvar = 5,
  append_block = 9,
  delete_file = 11,
  rand = 13,
  user_var = 14,
  format_description = 15,
  xid = 16,
  begin_load_query = 17,
  execute_load_query = 18,
  table_map = 19,
  write_rows_v1 = 23,
  update_rows_v1 = 24,
  delete_rows_v1 = 25,
  incident = 26,
  heartbeat = 27,
  ignorable = 28,
  rows_query = 29,
  write_rows = 30,
  update_rows = 31,
  delete_rows = 32,
  gtid = 33,
  anonymous_gtid = 34,
  previous_gtids = 35,
  transaction_context = 36,
  view_change = 37,
  xa_prepare = 38,
  partial_update_rows = 39,
  transaction_payload = 40,
  heartbeat_v2 = 41,
  gtid_tagged = 42,
  annotate_rows = 160,
  binlog_checkpoint = 161,
  mariadb_gtid = 162,
  gtid_list = 163,
  start_encryption = 164,
  query_compressed = 165,
  write_rows_compressed_v1 = 166,
  update_rows_compressed_v1 = 167,
  delete_rows_compressed_v1 = 168,
  write_rows_compressed = 169,
  update_rows_compressed = 170,
  delete_rows_compressed = 171,
};

/// `WRITE_ROWS_EVENT`; "event 250" has no name and is `unknown`.
[[nodiscard]] std::string_view to_string(event_type type) noexcept;

/// Whether a reader that does not know the type may leave the event out: MySQL's
/// LOG_EVENT_IGNORABLE_F says so for its own, MariaDB's LOG_EVENT_SKIP_REPLICATION_F does not.
inline constexpr std::uint16_t flag_ignorable = 0x80;
/// LOG_EVENT_BINLOG_IN_USE_F: of the FORMAT_DESCRIPTION of a log that is still written.
inline constexpr std::uint16_t flag_in_use = 0x1;
/// LOG_EVENT_ARTIFICIAL_F: made by the dump thread, not in any log.
inline constexpr std::uint16_t flag_artificial = 0x20;

inline constexpr std::size_t event_header_size = 19;

struct event_header {
  std::uint32_t timestamp = 0; ///< Seconds since 1970-01-01 UTC, of the statement.
  event_type type = event_type::unknown;
  std::uint32_t server_id = 0;
  std::uint32_t size = 0;         ///< Of the event, header and checksum included.
  std::uint32_t end_position = 0; ///< Behind it in its log, modulo 2^32; 0 inside MariaDB's groups.
  std::uint16_t flags = 0;

  bool operator==(const event_header&) const = default;
};

/// An event whose frame is right. The body lives as long as the bytes it was read from.
struct event_view {
  event_header header{};
  std::span<const std::byte> body{}; ///< Behind the header, without the checksum.
};

/// Whose log it is, as its FORMAT_DESCRIPTION tells.
enum class log_writer : std::uint8_t { mysql, mariadb };

/// binlog_checksum
enum class checksum : std::uint8_t {
  off = 0,
  crc32 = 1,
};

/// Reads the frame of one event. `algorithm` is what the log's FORMAT_DESCRIPTION says; for an
/// artificial event, what was negotiated; of a FORMAT_DESCRIPTION itself it is not looked at, since
/// it says its own. Events inside a TRANSACTION_PAYLOAD have no checksum. errc::malformed_message
/// when it is cut short, of another size than its header says, or its checksum is wrong.
[[nodiscard]] result<event_view> read_event(std::span<const std::byte> bytes, checksum algorithm);

/// errc::malformed_message in the one form that every decoder here gives:
/// `binlog WRITE_ROWS_EVENT ending at 4711: cut short at offset 12 of 31 bytes`.
/// Offsets count from the event's header.
[[nodiscard]] error malformed(const event_view& in, std::string_view what, std::size_t body_offset);

} // namespace cdc::sources::mysql
