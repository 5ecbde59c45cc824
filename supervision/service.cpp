#include "supervision/service.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cdc::supervision {

namespace {

std::optional<std::chrono::microseconds> watchdog_of_environment() {
  const auto* span = std::getenv("WATCHDOG_USEC");
  const auto* pid = std::getenv("WATCHDOG_PID");
  if (!span || (pid && std::strtol(pid, nullptr, 10) != ::getpid()))
    return std::nullopt;
  const auto microseconds = std::strtoll(span, nullptr, 10);
  if (microseconds <= 0)
    return std::nullopt;
  return std::chrono::microseconds{microseconds / 2};
}

} // namespace

service::service() {
  const auto* path = std::getenv("NOTIFY_SOCKET");
  if (!path || (path[0] != '/' && path[0] != '@'))
    return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const auto size = std::strlen(path);
  if (size >= sizeof to.sun_path)
    return;
  std::memcpy(to.sun_path, path, size);
  if (path[0] == '@') // an abstract address
    to.sun_path[0] = '\0';
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  if (socket_ >= 0 && ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), length) != 0) {
    ::close(socket_);
    socket_ = -1;
  }
  if (socket_ >= 0)
    watchdog_ = watchdog_of_environment();
}

service::~service() {
  if (socket_ >= 0)
    ::close(socket_);
}

void service::tell(std::string_view what) noexcept {
  if (socket_ >= 0)
    (void)::send(socket_, what.data(), what.size(), MSG_NOSIGNAL);
}

} // namespace cdc::supervision
