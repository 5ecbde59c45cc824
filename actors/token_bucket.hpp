#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace cdc::actors {

/// Lets so many rows a second through, on average. What does not fit at once is let through and
/// owed: whoever took it waits until the debt is paid, so that a block larger than a second's worth
/// passes, too. Time is passed in.
class token_bucket {
public:
  using clock = std::chrono::steady_clock;

  /// None: no limit. At most a tenth of a second's worth is saved up.
  explicit token_bucket(std::optional<std::uint32_t> rows_per_second) noexcept
      : rate_(rows_per_second) {}

  [[nodiscard]] bool open(clock::time_point now) noexcept {
    refill(now);
    return !rate_ || tokens_ >= 0;
  }

  /// Call it while open().
  void take(std::uint64_t rows) noexcept {
    if (rate_)
      tokens_ -= static_cast<double>(rows);
  }

  /// When it opens again.
  [[nodiscard]] std::chrono::milliseconds opens_in() const noexcept {
    if (!rate_ || tokens_ >= 0)
      return std::chrono::milliseconds{0};
    return std::chrono::milliseconds{
        static_cast<std::int64_t>(-tokens_ * 1000 / static_cast<double>(*rate_)) + 1};
  }

private:
  void refill(clock::time_point now) noexcept {
    if (!rate_)
      return;
    const std::chrono::duration<double> since =
        refilled_ == clock::time_point{} ? clock::duration{0} : now - refilled_;
    refilled_ = now;
    const auto rate = static_cast<double>(*rate_);
    tokens_ = std::min(rate / 10, tokens_ + since.count() * rate);
  }

  std::optional<std::uint32_t> rate_;
  double tokens_ = 0;
  clock::time_point refilled_{};
};

} // namespace cdc::actors
