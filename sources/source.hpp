#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/block.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/load.hpp"
#include "messages/relation.hpp"
#include "messages/snapshot.hpp"

namespace cdc::sources {

using clock = std::chrono::steady_clock;

/// How a log is being read.
struct log_reading {
  enum class mode : std::uint8_t {
    stream,
    catch_up, ///< Far behind, by a way that is faster and less prompt.
  };
  mode how = mode::stream;
  position log_end; ///< Where the log ended when the server was last asked; 0: it was not.
};

/// A log read over one connection, driven by one thread that polls. Nothing here blocks.
///
/// The owner polls `socket()` for `wants_events()` until `deadline()`, or until it has something to
/// say, and calls advance(); it takes finished blocks and passes credit by `may_read`.
class log_stream {
public:
  virtual ~log_stream() = default;

  [[nodiscard]] virtual int socket() const noexcept = 0;
  [[nodiscard]] virtual short wants_events(bool may_read) const noexcept = 0;
  [[nodiscard]] virtual clock::time_point deadline() const noexcept = 0;

  /// What advance() leaves the owner to do.
  enum class next : std::uint8_t {
    poll, ///< The socket is empty: poll.
    ship, ///< A block is full or due: take_block(), then advance() again.
    nap,  ///< Busy: let data collect for about 200 µs before the next advance().
  };

  /// Connects, sends what is due (status updates answer on their own timer, whatever `may_read`
  /// is), and, while `may_read`, drains the socket into the block under construction.
  [[nodiscard]] virtual result<next> advance(clock::time_point now, bool may_read) = 0;

  /// What has been decoded so far; null when there is nothing.
  [[nodiscard]] virtual block_ptr take_block() = 0;

  /// This position is durable at every target: the source may forget what lies before it.
  virtual void confirm(position durable) noexcept = 0;

  /// Asks the server how far its log is: answered by an `advance` event once all before it was
  /// sent.
  virtual void ask_for_position() noexcept = 0;

  /// A shape to read from the catalogue, elsewhere, and to provide(): one that the stream waits for
  /// or one that may have changed. The same until it was provided. The connection is served
  /// meanwhile.
  [[nodiscard]] virtual std::optional<std::uint32_t> unknown_relation() const noexcept = 0;
  /// Null answers unknown_relation(): there is no such table any more.
  virtual void provide(relation_ptr shape) = 0;

  [[nodiscard]] virtual log_reading reading() const noexcept { return {}; }
  /// Something for an operator to know, each only once.
  [[nodiscard]] virtual std::optional<std::string> take_news() { return std::nullopt; }

  /// Ends the connection in an orderly way, without waiting for the server.
  virtual void close() noexcept = 0;
};

/// A read transaction's view: what it sees, and the log's end read after it was taken (L).
struct view {
  snapshot seen;
  position log_end;
};

/// What a source's log holds back at the server.
struct log_pressure {
  enum class state : std::uint8_t { reserved, extended, unreserved, lost, unknown };
  state status = state::unknown;
  std::uint64_t retained_bytes = 0;
  std::optional<std::uint64_t> safe_bytes{}; ///< May still be written before the slot is in danger.
};

/// Reads tables over one connection of its own. Blocking calls: one thread owns it; cancel() is for
/// any other.
class table_reader {
public:
  virtual ~table_reader() = default;

  /// Divides a table: at most `chunk_rows` rows a range, by the server's own estimate.
  [[nodiscard]] virtual result<load_plan> plan(const relation& table, std::uint32_t chunk_rows) = 0;

  /// Takes a snapshot for one range; nothing is read yet. keyless: locks the table first.
  [[nodiscard]] virtual result<view> open(const relation_ptr& table, const load_plan& plan,
                                          std::uint32_t range) = 0;
  /// The next rows of the open range, as `row` events; null at its end.
  [[nodiscard]] virtual result<block_ptr> next() = 0;
  /// Ends the open range's transaction, read or not.
  [[nodiscard]] virtual result<void> close() = 0;

  /// Reads one row by its key in a snapshot of its own: null block when there is no such row.
  struct found_row {
    view from;
    block_ptr row;
  };
  [[nodiscard]] virtual result<found_row> read_key(const relation_ptr& table,
                                                   std::string_view key) = 0;

  /// A snapshot for its own sake (a proof), taken after a transaction of its own has ended.
  [[nodiscard]] virtual result<snapshot> look() = 0;

  [[nodiscard]] virtual result<log_pressure> pressure() = 0;

  /// Makes an idle server's log move, so that L is passed soon (PostgreSQL: a logical message).
  [[nodiscard]] virtual result<void> nudge() = 0;

  /// The table's shape as the catalogue has it now; null: there is no such table any more.
  [[nodiscard]] virtual result<relation_ptr> describe(std::uint32_t relation_oid) = 0;

  /// From any thread: the call under way ends with errc::cancelled, soon; later ones too.
  virtual void cancel() noexcept = 0;
};

} // namespace cdc::sources
