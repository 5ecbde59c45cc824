#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/error.hpp"
#include "messages/position.hpp"

/// What travels inside CopyData between a walsender and its client.
/// PostgreSQL's manual: "Streaming Replication Protocol", START_REPLICATION.
namespace cdc::sources::postgres {

/// A message of the server: XLogData, which carries one message of the output plugin, or a
/// keepalive.
struct frame {
  enum class type : std::uint8_t { data, keepalive };

  type what = type::data;
  /// Keepalive: everything before it was sent, when it comes outside a transaction.
  position log_end;
  bool wants_reply = false;           ///< Keepalive.
  std::span<const std::byte> payload; ///< XLogData. Lives as long as the message.
};

/// errc::malformed_message for anything else, cut short or too long.
[[nodiscard]] result<frame> decode_frame(std::span<const std::byte> message);

/// Standby status update: the client's side of the conversation.
struct status_update {
  position durable; ///< Reported as written, flushed and applied alike.
  bool wants_reply = false;

  bool operator==(const status_update&) const = default;
};

inline constexpr std::size_t status_update_size = 34;

[[nodiscard]] std::array<std::byte, status_update_size>
encode(const status_update& update, std::chrono::system_clock::time_point sent) noexcept;

} // namespace cdc::sources::postgres
