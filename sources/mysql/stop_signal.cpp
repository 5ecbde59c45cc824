#include "sources/mysql/stop_signal.hpp"

#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cdc::sources::mysql {

stop_signal::stop_signal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // nop
}

stop_signal::~stop_signal() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void stop_signal::raise() noexcept {
  const std::uint64_t one = 1;
  // It cannot fail but by being raised 2^64 times; nobody ever reads it down.
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  const std::lock_guard hold{guard_};
  for (const auto socket : sockets_)
    ::shutdown(socket, SHUT_RDWR);
}

bool stop_signal::raised() const noexcept {
  pollfd on{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&on, 1, 0) > 0;
}

void stop_signal::watch(int socket) {
  const std::lock_guard hold{guard_};
  sockets_.push_back(socket);
  if (raised())
    ::shutdown(socket, SHUT_RDWR);
}

void stop_signal::forget(int socket) noexcept {
  const std::lock_guard hold{guard_};
  std::erase(sockets_, socket);
}

} // namespace cdc::sources::mysql
