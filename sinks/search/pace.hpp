#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace cdc::sinks::search {

/// How much a target is given at a time. It starts at the most that is allowed, is halved by each
/// refusal, and comes back step by step.
class pace {
public:
  static constexpr std::size_t items_min = 32;
  static constexpr std::size_t bytes_min = std::size_t{64} << 10U;

  pace(std::size_t requests_max, std::size_t items_max, std::size_t bytes_max)
      : requests_max_(requests_max), items_max_(items_max), bytes_max_(bytes_max),
        requests_(requests_max), items_(items_max), bytes_(bytes_max) {}

  [[nodiscard]] std::size_t requests() const noexcept { return requests_; }
  [[nodiscard]] std::size_t items() const noexcept { return items_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  [[nodiscard]] std::size_t requests_max() const noexcept { return requests_max_; }
  [[nodiscard]] std::size_t items_max() const noexcept { return items_max_; }
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }

  /// The target has too much to do: first fewer requests, then smaller ones.
  void slow_down() noexcept {
    if (requests_ > 1)
      requests_ /= 2;
    else
      items_ = std::max(items_ / 2, std::min(items_min, items_max_));
    quiet_ = 0;
  }
  /// A request was too large: the target takes no more than half of its bytes, for good.
  void too_large(std::size_t bytes) noexcept {
    bytes_max_ = bytes_ = std::max<std::size_t>(std::min(bytes, bytes_) / 2, 1);
  }
  void succeeded() noexcept {
    if (++quiet_ < quiet_wanted)
      return;
    quiet_ = 0;
    if (items_ < items_max_)
      items_ = std::min(items_max_, items_ + std::max<std::size_t>(items_max_ / 8, 1));
    else if (requests_ < requests_max_)
      ++requests_;
  }

private:
  static constexpr int quiet_wanted = 4;

  std::size_t requests_max_, items_max_, bytes_max_;
  std::size_t requests_, items_, bytes_;
  int quiet_ = 0;
};

/// The wait before the next attempt: doubles from `first` up to 30 s.
class growing_wait {
public:
  explicit growing_wait(std::chrono::milliseconds first = std::chrono::milliseconds{100})
      : first_(first), next_(first) {}

  [[nodiscard]] std::chrono::milliseconds next() noexcept {
    const auto out = next_;
    next_ = std::min(next_ * 2, most);
    ++count_;
    return out;
  }
  void reset() noexcept {
    next_ = first_;
    count_ = 0;
  }
  /// How often next() was asked since the last reset().
  [[nodiscard]] unsigned count() const noexcept { return count_; }

  static constexpr std::chrono::milliseconds most{30'000};

private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds next_;
  unsigned count_ = 0;
};

} // namespace cdc::sinks::search
