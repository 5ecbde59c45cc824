#include "sources/mysql/event_queue.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace cdc::sources::mysql {

event_queue::event_queue(std::size_t bytes_max)
    : bytes_max_(bytes_max), descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  bytes_.reserve(bytes_max_);
}

event_queue::~event_queue() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

bool event_queue::push(std::span<const std::byte> event) {
  const auto size = static_cast<std::uint32_t>(event.size());
  auto was_empty = false;
  {
    std::unique_lock hold{guard_};
    room_.wait(hold, [this] { return bytes_.size() < bytes_max_ || is_closed_; });
    if (is_closed_)
      return false;
    was_empty = bytes_.empty();
    const auto* head = reinterpret_cast<const std::byte*>(&size);
    bytes_.insert(bytes_.end(), head, head + sizeof size);
    bytes_.insert(bytes_.end(), event.begin(), event.end());
  }
  if (was_empty)
    signal();
  return true;
}

void event_queue::fail(error why) {
  {
    const std::lock_guard hold{guard_};
    failure_ = std::move(why);
  }
  signal();
}

void event_queue::take(std::vector<std::byte>& into) {
  into.clear();
  // An event of a gigabyte is not kept room for.
  if (into.capacity() > 2 * bytes_max_)
    into = {};
  std::uint64_t count = 0;
  const std::lock_guard hold{guard_};
  // A failure stays readable: the one who polls is about to see it.
  if (!failure_) [[maybe_unused]]
    const auto read = ::read(descriptor_, &count, sizeof count);
  std::swap(into, bytes_);
  room_.notify_one();
}

std::optional<error> event_queue::failure() {
  const std::lock_guard hold{guard_};
  return bytes_.empty() ? failure_ : std::nullopt;
}

void event_queue::close() {
  {
    const std::lock_guard hold{guard_};
    is_closed_ = true;
  }
  room_.notify_one();
}

void event_queue::signal() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

} // namespace cdc::sources::mysql
