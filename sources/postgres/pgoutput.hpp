#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "messages/relation.hpp"

/// The messages of pgoutput, protocol version 1, that carry no rows (pgoutput_rows.hpp has those).
/// PostgreSQL's manual: "Logical Replication Message Formats".
///
/// Every decoder takes a whole message and refuses one that is cut short or too long with
/// errc::malformed_message, which names the message and the offset. Views live as long as it does.
namespace cdc::sources::postgres {

enum class message_type : char {
  begin = 'B',
  commit = 'C',
  origin = 'O',
  relation = 'R',
  type = 'Y',
  insert = 'I',
  update = 'U',
  remove = 'D',
  truncate = 'T',
  message = 'M',
};

/// By its first byte; none: it is no message of this protocol version.
[[nodiscard]] std::optional<message_type> type_of(std::span<const std::byte> message) noexcept;
[[nodiscard]] std::string_view to_string(message_type type) noexcept;

/// Microseconds since 2000-01-01 UTC, as the protocol counts, to microseconds since 1970-01-01.
[[nodiscard]] std::int64_t unix_microseconds(std::uint64_t since_2000) noexcept;

struct begin_message {
  position final;               ///< Of the commit record.
  std::int64_t commit_time = 0; ///< Microseconds since 1970-01-01 UTC.
  std::uint32_t xid = 0;
};

struct commit_message {
  position final;
  position end; ///< Behind the commit record.
  std::int64_t commit_time = 0;
};

/// Where a transaction came from that was replicated to this server.
struct origin_message {
  position commit;
  std::string_view name;
};

struct relation_message {
  struct column {
    std::string_view name;
    std::uint32_t type_oid = 0;
    std::int32_t type_modifier = -1;
    bool is_identity_key = false;
  };

  std::uint32_t oid = 0;
  std::string_view schema;
  std::string_view name;
  replica_identity identity = replica_identity::primary_key;
  std::vector<column> columns;
};

/// Sent before a relation that uses a type which is not built in.
struct type_message {
  std::uint32_t oid = 0;
  std::string_view schema;
  std::string_view name;
};

struct truncate_message {
  bool cascade = false;
  bool restart_identity = false;
  std::vector<std::uint32_t> relations; ///< In the order of the statement.
};

/// pg_logical_emit_message().
struct logical_message {
  bool is_transactional = false;
  position at;
  std::string_view prefix;
  std::string_view content;
};

[[nodiscard]] result<begin_message> decode_begin(std::span<const std::byte> message);
[[nodiscard]] result<commit_message> decode_commit(std::span<const std::byte> message);
[[nodiscard]] result<origin_message> decode_origin(std::span<const std::byte> message);
[[nodiscard]] result<relation_message> decode_relation(std::span<const std::byte> message);
[[nodiscard]] result<type_message> decode_type(std::span<const std::byte> message);
[[nodiscard]] result<truncate_message> decode_truncate(std::span<const std::byte> message);
[[nodiscard]] result<logical_message> decode_message(std::span<const std::byte> message);

} // namespace cdc::sources::postgres
