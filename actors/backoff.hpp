#pragma once

#include <algorithm>
#include <chrono>

namespace cdc::actors {

/// How long to wait before the next try: doubles from `least` to `most`, until something succeeds.
class backoff {
public:
  backoff(std::chrono::milliseconds least, std::chrono::milliseconds most) noexcept
      : least_(least), most_(most), next_(least) {}

  [[nodiscard]] std::chrono::milliseconds next() noexcept {
    const auto now = next_;
    next_ = std::min(most_, next_ * 2);
    return now;
  }
  void reset() noexcept { next_ = least_; }

private:
  std::chrono::milliseconds least_;
  std::chrono::milliseconds most_;
  std::chrono::milliseconds next_;
};

} // namespace cdc::actors
