#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/block.hpp"
#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/mysql/binlog/control_events.hpp"
#include "sources/mysql/binlog/payload.hpp"
#include "sources/mysql/coordinates.hpp"
#include "sources/mysql/gtid_set.hpp"
#include "sources/mysql/statement.hpp"
#include "sources/mysql/table_cache.hpp"
#include "sources/source.hpp"

namespace cdc::sources::mysql {

struct stream_options {
  block_limits limits{};
  /// Positions without rows are passed on this often, unless they were asked for: each may cost the
  /// target a write.
  std::chrono::milliseconds advance_interval{200};
};

/// Where a stream begins.
struct stream_start {
  coordinates at;
  position resume;
  table_cache::choice takes;
};

/// A transaction of the log that has begun.
struct open_group {
  transaction about;
  bool is_begun = false; ///< A COMMIT, ROLLBACK, XID or XA PREPARE ends it.
  bool is_xa = false;
  bool begin_sent = false;
  std::string table; ///< The first of ours that it changed; for messages.
};

/// Everything between a log's events and blocks, without a socket or a clock.
///
/// An event goes in by feed(); it is taken, or go_on() is called until it is: when take_block()
/// was, or provide() brought the shape that it waits for. The event's bytes stay until then.
///
/// A transaction is one group of the log, which begins with its GTID. Its `final` is one above the
/// position at which its group begins, since nothing else is known before its end; the log's groups
/// stand one behind another, so whoever has seen that far has seen all of it. One without rows of
/// ours leaves no begin and commit, only a position.
class stream_core {
public:
  stream_core(stream_start from, stream_options options);

  enum class fed : std::uint8_t {
    taken,
    held, ///< A shape is waited for.
    full, ///< The block is.
  };

  [[nodiscard]] result<fed> feed(std::span<const std::byte> event, clock::time_point now);
  [[nodiscard]] result<fed> go_on(clock::time_point now);
  [[nodiscard]] bool busy() const noexcept { return outer_.has_value(); }

  /// The checksum of what the server makes up itself.
  void negotiated(checksum algorithm) noexcept { negotiated_ = algorithm; }

  void pass_on(clock::time_point now);
  [[nodiscard]] clock::time_point advance_due() const noexcept;

  [[nodiscard]] bool empty() const noexcept { return out_.empty(); }
  [[nodiscard]] bool full() const noexcept { return out_.full(); }
  [[nodiscard]] block_ptr take_block(); ///< Null when there is nothing.

  void ask_for_position() noexcept { answer_due_ = true; }

  [[nodiscard]] std::optional<std::uint32_t> unknown_relation() const noexcept {
    return tables_.wanted();
  }
  void provide(relation_ptr shape) { tables_.provide(std::move(shape)); }

  /// Everything at or below it has gone into blocks.
  [[nodiscard]] position passed() const noexcept { return passed_; }
  [[nodiscard]] std::optional<std::string> take_news();

private:
  [[nodiscard]] result<fed> handle(clock::time_point now);
  [[nodiscard]] result<void> place(const event_view& in);
  [[nodiscard]] result<void> on_rotate(clock::time_point now);
  [[nodiscard]] result<void> on_heartbeat(clock::time_point now);
  [[nodiscard]] result<void> on_gtid();
  [[nodiscard]] result<void> on_mariadb_gtid();
  [[nodiscard]] result<fed> on_query(clock::time_point now);
  [[nodiscard]] result<fed> on_definition(const statement& said, clock::time_point now);
  [[nodiscard]] result<fed> on_truncation(const statement& said, clock::time_point now);
  [[nodiscard]] result<void> refuse_change(const statement& said) const;
  [[nodiscard]] result<fed> on_rows();
  [[nodiscard]] result<void> on_prepare(clock::time_point now);

  [[nodiscard]] result<void> begin_group(bool is_begun);
  [[nodiscard]] result<void> commit_group(clock::time_point now);
  [[nodiscard]] result<void> roll_back_group(clock::time_point now);
  void open_transaction();
  void note_position(position at, clock::time_point now);
  void advance(position to);
  [[nodiscard]] std::string where() const;

  coordinates at_;
  stream_options options_;
  block_pool pool_;
  block_builder out_;
  table_cache tables_;
  event_expander expander_;

  checksum negotiated_ = checksum::off;
  checksum algorithm_ = checksum::off;
  log_writer writer_ = log_writer::mysql;
  log_place place_;          ///< Behind the event at hand.
  std::uint64_t begins_ = 0; ///< Where that event begins.

  std::optional<event_view> outer_; ///< As the log has it …
  std::optional<payload_reader> payload_;
  std::optional<event_view> inner_; ///< … and what is read of it.
  std::optional<row_event> rows_;

  std::optional<open_group> group_;
  position passed_;
  std::optional<position> pending_; ///< To be passed on when advance_interval is over.
  clock::time_point advanced_at_{};
  bool ends_in_advance_ = false; ///< The block's last event is one, and may be replaced.
  bool answer_due_ = false;
  std::vector<std::string> news_;
};

} // namespace cdc::sources::mysql
