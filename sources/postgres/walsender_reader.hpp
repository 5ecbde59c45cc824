#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "messages/error.hpp"
#include "sources/postgres/feedback.hpp"
#include "sources/postgres/flow_meter.hpp"
#include "sources/postgres/replication_connection.hpp"
#include "sources/postgres/stream_core.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// What a reader of the log leaves its owner to do: log_stream::next, or to go over to another way
/// of reading.
enum class step : std::uint8_t { poll, ship, nap, leave };

/// Feeds a core from a walsender, over a connection of its own. Outlived by the core.
class walsender_reader {
public:
  walsender_reader(stream_request request, stream_core& core, std::shared_ptr<patience> allowed);

  [[nodiscard]] int socket() const noexcept { return connection_.socket(); }
  [[nodiscard]] short wants_events(bool may_read) const noexcept;
  [[nodiscard]] clock::time_point deadline() const noexcept;

  /// As log_stream::advance(). step::leave: identified() was answered by stop().
  [[nodiscard]] result<step> advance(clock::time_point now, bool may_read);
  void block_taken() noexcept { open_since_.reset(); }

  /// Where the log ended before the stream began; none once it was begun. The next advance() begins
  /// it.
  [[nodiscard]] std::optional<position> identified() const noexcept;
  [[nodiscard]] bool running() const noexcept { return running_; }
  [[nodiscard]] int backend_pid() const noexcept { return connection_.backend_pid(); }

  /// Feeds no further than the end of the transaction under way; advance() says step::leave there.
  void leave_at_boundary() noexcept { leaves_ = true; }

  void close() noexcept;

private:
  enum class drain_end : std::uint8_t { socket_empty, block_full, held, boundary };

  [[nodiscard]] result<step> read(clock::time_point now);
  [[nodiscard]] result<drain_end> drain(clock::time_point now);
  [[nodiscard]] result<drain_end> take_messages(clock::time_point now);
  [[nodiscard]] result<void> serve(clock::time_point now, bool reading);
  [[nodiscard]] step after(drain_end end, clock::time_point now);
  [[nodiscard]] error lost(const error& silence) const;
  [[nodiscard]] bool may_leave() const noexcept { return leaves_ && core_.at_boundary(); }

  position resume_;
  stream_core& core_;
  std::shared_ptr<patience> allowed_;
  replication_connection connection_;
  flow_meter flow_;
  std::span<const std::byte> held_;             ///< A message that waits for a shape.
  std::optional<clock::time_point> open_since_; ///< When the block got its first event.
  std::size_t drained_ = 0;                     ///< Bytes of the drain under way, or the last.
  bool is_identified_ = false;
  bool running_ = false;
  bool nap_due_ = false;
  bool leaves_ = false;
};

} // namespace cdc::sources::postgres
