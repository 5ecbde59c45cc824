#pragma once

#include <mutex>
#include <vector>

namespace cdc::sources::mysql {

/// Ends blocking calls from another thread, by shutting down the sockets they wait for. Raised
/// once, for good; it outlives the connections it stops and may be raised before they exist.
class stop_signal {
public:
  stop_signal();
  ~stop_signal();
  stop_signal(const stop_signal&) = delete;
  stop_signal& operator=(const stop_signal&) = delete;

  void raise() noexcept;
  [[nodiscard]] bool raised() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; } ///< Readable once raised.

  /// From now on raise() shuts this socket down; at once when it was raised. Until forget(), which
  /// comes before the socket is closed.
  void watch(int socket);
  void forget(int socket) noexcept;

private:
  int descriptor_ = -1;
  std::mutex guard_;
  std::vector<int> sockets_;
};

} // namespace cdc::sources::mysql
