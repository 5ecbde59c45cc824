#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "messages/error.hpp"

namespace cdc::supervision {

/// How often, and how soon, a pipeline that failed is rebuilt.
struct restart_limits {
  std::uint32_t failures_max = 10; ///< In a row; one more halts. 0: the first one halts.
  std::chrono::milliseconds backoff{1000};
  std::optional<std::chrono::milliseconds> elapsed_max; ///< Of failing in a row.
};

struct restart_options {
  restart_limits source;
  restart_limits target; ///< For errors that come from a target.
  std::chrono::milliseconds backoff_max{30'000};
  std::uint32_t seed = std::random_device{}();
};

/// Decides what follows a failure. Pure: time is what it is told.
///
/// The delay doubles with each failure in a row up to `backoff_max`, less a random part of up to a
/// quarter, so that many pipelines do not come back at once. A life longer than `backoff_max` ends
/// the row.
class restart_policy {
public:
  explicit restart_policy(restart_options options) : options_(options), random_(options.seed) {}

  struct decision {
    bool halts = false;
    std::chrono::milliseconds delay{0};
    std::uint32_t failures = 0; ///< In a row, this one counted.
    std::uint32_t failures_max = 0;
  };
  [[nodiscard]] decision failed(const error& why, std::chrono::milliseconds lived);

  /// Begins the count anew: a person, or a timer, has asked for another try.
  void forgive() noexcept { failures_ = 0; }

private:
  [[nodiscard]] std::chrono::milliseconds delay(const restart_limits& limits);

  restart_options options_;
  std::mt19937 random_;
  std::uint32_t failures_ = 0;
  std::chrono::milliseconds elapsed_{0};
};

} // namespace cdc::supervision
