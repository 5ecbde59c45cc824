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

/// Everything between a server's messages and blocks, without a socket or a clock.
///
/// A walsender's messages go in by feed(), those that were pulled by feed_data(); blocks come out
/// by take_block(). What has to be sent to a walsender, and its silence, come out of tick(). A
/// shape that has to be asked for holds the stream: the message that needs it is not taken until
/// provide() has brought it.
///
/// A transaction without rows of ours leaves no begin and commit, only a position.
class stream_core {
public:
  stream_core(position resume, stream_options options);

  /// A walsender has begun to send, for the first time or again: behind passed().
  void start(clock::time_point now) {
    feedback_.start(now);
    expect_descriptions(true);
  }

  enum class fed : std::uint8_t {
    taken,
    held, ///< Not taken: feed it again when holding() is over.
  };

  /// One CopyData payload.
  [[nodiscard]] result<fed> feed(std::span<const std::byte> message, clock::time_point now);

  /// One message of the output plugin, without the walsender's frame.
  [[nodiscard]] result<fed> feed_data(std::span<const std::byte> message, clock::time_point now);
  /// Everything that committed before `until` was fed. `at_end`: and the log went no further when
  /// it was last asked for.
  [[nodiscard]] result<void> fed_until(position until, bool at_end, clock::time_point now);
  /// The server describes every relation again. `looks_again`: the catalogue is asked again too.
  void expect_descriptions(bool looks_again) { relations_.expect_again(looks_again); }

  [[nodiscard]] bool holding();
  /// Between two transactions.
  [[nodiscard]] bool at_boundary() const noexcept { return !open_; }

  /// Passes on a position that is due, at advance_due().
  void pass_on(clock::time_point now);
  [[nodiscard]] clock::time_point advance_due() const noexcept;

  /// The status update to send now. errc::source_unavailable: the server is silent for too long.
  [[nodiscard]] result<std::optional<status_update>> tick(clock::time_point now, bool reading);
  [[nodiscard]] std::optional<status_update> last_words() const noexcept;
  [[nodiscard]] clock::time_point deadline() const noexcept;
  /// What last_words() said was told to the server in another way.
  void reported(position durable) noexcept { feedback_.reported(durable); }

  /// Bytes arrived that are no whole message yet.
  void heard(clock::time_point now) noexcept { feedback_.heard(now); }
  [[nodiscard]] clock::time_point heard_at() const noexcept { return feedback_.heard_at(); }

  [[nodiscard]] bool empty() const noexcept { return out_.empty(); }
  [[nodiscard]] bool full() const noexcept { return out_.full(); }
  [[nodiscard]] block_ptr take_block(); ///< Null when there is nothing.

  void confirm(position durable) noexcept { feedback_.confirm(durable); }
  void ask_for_position() noexcept;
  /// A position was asked for and is not answered yet.
  [[nodiscard]] bool asks() const noexcept { return answer_due_; }

  [[nodiscard]] std::optional<std::uint32_t> unknown_relation() const noexcept {
    return relations_.wanted();
  }
  void provide(relation_ptr shape) { relations_.provide(std::move(shape)); }

  /// Everything at or below it has gone into blocks.
  [[nodiscard]] position passed() const noexcept { return passed_; }

private:
  using bytes = std::span<const std::byte>;

  [[nodiscard]] result<void> on_keepalive(const frame& keepalive, clock::time_point now);
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
