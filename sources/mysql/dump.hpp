#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "messages/error.hpp"
#include "sources/mysql/binlog/event.hpp"
#include "sources/mysql/coordinates.hpp"
#include "sources/mysql/endpoint.hpp"
#include "sources/mysql/event_queue.hpp"
#include "sources/mysql/stop_signal.hpp"

namespace cdc::sources::mysql {

class connection;

/// From where a server is asked for its log.
struct dump_request {
  endpoint to;
  std::uint32_t server_id = 0; ///< As which replica; 0: as none, to the log's end.
  log_place from;
  /// Instead of `from`: what was read already. MySQL: COM_BINLOG_DUMP_GTID's set, encoded; MariaDB:
  /// the state's text.
  std::optional<std::string> gtids;
};

/// Reads a server's log on a thread of its own, over a connection of its own, until it is destroyed
/// or something fails.
class log_dump {
public:
  log_dump(dump_request request, std::size_t bytes_ahead);
  ~log_dump();
  log_dump(const log_dump&) = delete;
  log_dump& operator=(const log_dump&) = delete;

  /// Each event as the protocol brings it, its header first; and the error it ended with.
  [[nodiscard]] event_queue& events() noexcept { return events_; }

  /// What the events have that the server makes up itself; known before the first.
  [[nodiscard]] checksum negotiated() const noexcept { return negotiated_; }

  /// The thread ends soon; no one waits for it before the destructor.
  void stop() noexcept;

private:
  void run();
  [[nodiscard]] result<void> read();

  dump_request request_;
  event_queue events_;
  std::atomic<checksum> negotiated_{checksum::off};
  std::shared_ptr<stop_signal> stop_ = std::make_shared<stop_signal>();
  std::thread thread_;
};

/// Asks a server for its log over a connection that is of no use for anything else afterwards. What
/// the events have that the server makes up itself.
[[nodiscard]] result<checksum> ask_for_log(connection& on, const dump_request& request);

/// The next event, its header first, valid until the next call; none: the server ended the log's
/// stream.
[[nodiscard]] result<std::optional<std::span<const std::byte>>>
next_event(connection& on, const dump_request& request);

/// What the server says when it does not send its log, in our words.
[[nodiscard]] error judge_dump_error(unsigned number, std::string_view message,
                                     std::string_view server, const dump_request& request);

} // namespace cdc::sources::mysql
