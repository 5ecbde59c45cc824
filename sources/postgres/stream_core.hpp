#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "messages/block.hpp"
#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/postgres/feedback.hpp"
#include "sources/postgres/pgoutput.hpp"
#include "sources/postgres/relation_cache.hpp"
#include "sources/postgres/walsender.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

struct stream_options {
  block_limits limits{};
  feedback_options feedback{};
  /// Positions without rows (keepalives, empty transactions) are passed on this often, unless they
  /// were asked for: each may cost the target a write.
  std::chrono::milliseconds advance_interval{200};
};

/// Everything between a walsender's messages and blocks, without a socket or a clock.
///
/// Messages go in by feed(), blocks come out by take_block(); what has to be sent, and the server's
/// silence, come out of tick(). A shape that has to be asked for holds the stream: the message that
/// needs it is not taken until provide() has brought it.
///
/// A transaction without rows of ours leaves no begin and commit, only a position.
class stream_core {
public:
  stream_core(position resume, stream_options options);

  /// The server has begun to send.
  void start(clock::time_point now) noexcept { feedback_.start(now); }

  enum class fed : std::uint8_t {
    taken,
    held, ///< Not taken: feed it again when holding() is over.
  };

  /// One CopyData payload.
  [[nodiscard]] result<fed> feed(std::span<const std::byte> message, clock::time_point now);

  [[nodiscard]] bool holding();

  /// The status update to send now. errc::source_unavailable: the server is silent for too long.
  [[nodiscard]] result<std::optional<status_update>> tick(clock::time_point now, bool reading);
  [[nodiscard]] std::optional<status_update> last_words() const noexcept;
  [[nodiscard]] clock::time_point deadline() const noexcept;

  /// Bytes arrived that are no whole message yet.
  void heard(clock::time_point now) noexcept { feedback_.heard(now); }
  [[nodiscard]] clock::time_point heard_at() const noexcept { return feedback_.heard_at(); }

  [[nodiscard]] bool empty() const noexcept { return out_.empty(); }
  [[nodiscard]] bool full() const noexcept { return out_.full(); }
  [[nodiscard]] block_ptr take_block(); ///< Null when there is nothing.

  void confirm(position durable) noexcept { feedback_.confirm(durable); }
  void ask_for_position() noexcept;

  [[nodiscard]] std::optional<std::uint32_t> unknown_relation() const noexcept {
    return relations_.wanted();
  }
  void provide(relation_ptr shape) { relations_.provide(std::move(shape)); }

  /// Everything at or below it has gone into blocks.
  [[nodiscard]] position passed() const noexcept { return passed_; }

private:
  using bytes = std::span<const std::byte>;

  [[nodiscard]] result<void> on_keepalive(const frame& keepalive, clock::time_point now);
  [[nodiscard]] result<fed> on_message(bytes message, clock::time_point now);
  [[nodiscard]] result<fed> on_row(message_type type, bytes message);
  [[nodiscard]] result<fed> on_truncate(bytes message);
  [[nodiscard]] result<void> on_begin(bytes message);
  [[nodiscard]] result<void> on_commit(bytes message, clock::time_point now);
  [[nodiscard]] result<void> on_relation(bytes message);
  [[nodiscard]] result<void> on_logical_message(bytes message);

  void open_transaction();
  void note_position(position at, clock::time_point now);
  void advance(position to);

  block_pool pool_;
  block_builder out_;
  stream_options options_;
  feedback feedback_;
  relation_cache relations_;

  std::optional<transaction> open_; ///< Begun and not committed.
  bool begin_sent_ = false;         ///< Its begin is in a block.
  position passed_;
  std::optional<position> pending_; ///< To be passed on when advance_interval is over.
  clock::time_point advanced_at_;
  bool ends_in_advance_ = false; ///< The block's last event is one, and may be replaced.
  bool answer_due_ = false;      ///< A position was asked for.
  bool ask_again_ = false;       ///< Once the transaction is over.
  std::uint32_t held_ = 0;       ///< The relation that feed() waits for, or 0.
};

} // namespace cdc::sources::postgres
