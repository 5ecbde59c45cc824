#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sources/mysql/binlog/event.hpp"

/// The events that carry no rows. Every decoder refuses a body that is cut short, naming event and
/// offset; bytes behind what it knows are a newer server's and left alone. Views live as long as
/// the event. Layouts: libs/mysql/binlog/event of MySQL, sql/log_event.h of MariaDB.
namespace cdc::sources::mysql {

struct format_description {
  std::uint16_t binlog_version = 0;
  std::string_view server_version{};
  checksum algorithm = checksum::off;
  log_writer writer = log_writer::mysql;
};
/// errc::malformed_message also for a binlog version other than 4, a header of another size, and an
/// algorithm that is neither.
[[nodiscard]] result<format_description> decode_format_description(const event_view& in);

struct rotation {
  std::uint64_t position = 0;
  std::string_view file{};
};
[[nodiscard]] result<rotation> decode_rotate(const event_view& in);

/// XID_EVENT: the commit of a transactional engine.
[[nodiscard]] result<std::uint64_t> decode_xid(const event_view& in);

/// The name of an XA transaction: formatID, gtrid and bqual.
struct xa_name {
  std::int32_t format = 0;
  std::string_view global{};
  std::string_view branch{};
};
struct xa_preparation {
  bool is_one_phase = false; ///< XA COMMIT … ONE PHASE: the transaction is committed here.
  xa_name name{};
};
[[nodiscard]] result<xa_preparation> decode_xa_prepare(const event_view& in);

struct query {
  std::uint32_t thread = 0;
  std::uint16_t error_code = 0;
  std::string_view schema{};
  std::string_view text{};                 ///< In the character set of `client_collation`.
  std::uint16_t client_collation = 0;      ///< 0: not said.
  std::optional<std::uint64_t> sql_mode{}; ///< As @@sql_mode counts: ANSI_QUOTES is 4.
};
/// QUERY_EVENT, and QUERY_COMPRESSED_EVENT behind expand().
[[nodiscard]] result<query> decode_query(const event_view& in);

using server_uuid = std::array<std::byte, 16>;

/// GTID_LOG_EVENT, ANONYMOUS_GTID_LOG_EVENT, GTID_TAGGED_LOG_EVENT.
struct mysql_gtid {
  server_uuid uuid{};
  std::string_view tag{};
  std::int64_t number = 0; ///< 0: anonymous.
  std::int64_t last_committed = 0;
  std::int64_t sequence_number = 0;
  std::uint64_t committed_at = 0; ///< Microseconds since 1970, by this server; 0: not said.
  std::uint64_t originally_committed_at = 0; ///< The same, by the server that made it.
  std::uint64_t transaction_size = 0; ///< Bytes of the log, this event included; 0: not said.
};
[[nodiscard]] result<mysql_gtid> decode_gtid(const event_view& in);

/// PREVIOUS_GTIDS_LOG_EVENT.
struct gtid_interval {
  std::uint64_t first = 0;
  std::uint64_t end = 0; ///< The last one plus 1.
  bool operator==(const gtid_interval&) const = default;
};
struct gtid_range {
  server_uuid uuid{};
  std::string_view tag{};
  std::vector<gtid_interval> intervals{};
};
[[nodiscard]] result<std::vector<gtid_range>> decode_previous_gtids(const event_view& in);

/// MariaDB's GTID_EVENT, which begins a group.
struct mariadb_gtid {
  std::uint32_t domain = 0;
  std::uint32_t server_id = 0;
  std::uint64_t sequence = 0;
  bool is_standalone = false; ///< No COMMIT or XID will end it: DDL.
  bool is_transactional = false;
  bool is_ddl = false;
  bool is_xa_prepared = false;  ///< An XA PREPARE: `xa` names it.
  bool is_xa_completed = false; ///< An XA COMMIT or XA ROLLBACK, which the QUERY event in it tells.
  xa_name xa{};
};
[[nodiscard]] result<mariadb_gtid> decode_mariadb_gtid(const event_view& in);

struct mariadb_gtid_entry {
  std::uint32_t domain = 0;
  std::uint32_t server_id = 0;
  std::uint64_t sequence = 0;
  bool operator==(const mariadb_gtid_entry&) const = default;
};
[[nodiscard]] result<std::vector<mariadb_gtid_entry>> decode_gtid_list(const event_view& in);

/// The statement of ANNOTATE_ROWS_EVENT or ROWS_QUERY_LOG_EVENT. It holds values: never for a log.
[[nodiscard]] result<std::string_view> decode_annotation(const event_view& in);

struct encryption {
  std::uint8_t scheme = 0;
  std::uint32_t key_version = 0;
};
[[nodiscard]] result<encryption> decode_start_encryption(const event_view& in);

struct incident {
  std::uint16_t number = 0; ///< 1: LOST_EVENTS.
  std::string_view message{};
};
[[nodiscard]] result<incident> decode_incident(const event_view& in);

/// HEARTBEAT_LOG_EVENT and its second version: where the dump thread is.
struct heartbeat {
  std::string_view file{};
  std::uint64_t position = 0;
};
[[nodiscard]] result<heartbeat> decode_heartbeat(const event_view& in);

/// INTVAR_EVENT, RAND_EVENT and USER_VAR_EVENT: what the statement behind them needs. Only their
/// frame is checked; that they are there says that the statement is not logged by its rows.
[[nodiscard]] result<void> check_statement_context(const event_view& in);

} // namespace cdc::sources::mysql
