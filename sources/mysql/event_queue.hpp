#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "messages/error.hpp"

namespace cdc::sources::mysql {

/// Hands a log's events from the thread that reads them to the one that polls. It holds `bytes_max`
/// and one event more; a reader that is further ahead waits.
class event_queue {
public:
  explicit event_queue(std::size_t bytes_max);
  ~event_queue();
  event_queue(const event_queue&) = delete;
  event_queue& operator=(const event_queue&) = delete;

  // -- the reader's side --------------------------------------------------------------------------

  /// False: closed. Waits for room.
  bool push(std::span<const std::byte> event);
  /// What comes behind the last event.
  void fail(error why);

  // -- the other side -----------------------------------------------------------------------------

  /// Readable while there is something to take, or an error.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// All events that there are, each behind its length (4 bytes, as the machine has them); `into`'s
  /// own room is used for the next. Nothing there: it is empty afterwards.
  void take(std::vector<std::byte>& into);
  /// Once all events were taken.
  [[nodiscard]] std::optional<error> failure();
  void close();

private:
  void signal() const noexcept;

  std::size_t bytes_max_;
  int descriptor_ = -1;
  std::mutex guard_;
  std::condition_variable room_;
  std::vector<std::byte> bytes_;
  std::optional<error> failure_;
  bool is_closed_ = false;
};

} // namespace cdc::sources::mysql
