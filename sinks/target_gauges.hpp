#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/histogram.hpp"

namespace cdc::sinks {

/// How a write to a document target ended.
enum class write_result : std::uint8_t {
  taken,  ///< Every item was.
  partly, ///< Some items were refused, or have to be sent again.
  failed, ///< None was, or nobody knows.
};
inline constexpr std::size_t write_results = 3;

[[nodiscard]] constexpr std::string_view to_string(write_result what) noexcept {
  constexpr std::array<std::string_view, write_results> names{"taken", "partly", "failed"};
  return names[static_cast<std::size_t>(what)];
}

/// What a target that writes by requests lets others see, over all lives of its pipeline. Written
/// by the sink's thread, read by any; only what changes rarely takes a lock.
class target_gauges {
public:
  std::atomic<std::uint32_t> open{0};         ///< Writes without an answer.
  std::atomic<std::int64_t> oldest_open{0};   ///< When the oldest was sent, steady ns; 0: none.
  std::atomic<std::uint32_t> requests_now{0}; ///< How many it may have open at present …
  std::atomic<std::uint32_t> requests_max{0}; ///< … and at best.
  std::atomic<std::uint64_t> items_now{0};    ///< The same of the items of one write.
  std::atomic<std::uint64_t> items_max{0};
  std::atomic<std::uint64_t> bytes_now{0}; ///< The same of its bytes.
  std::atomic<std::uint64_t> bytes_max{0};
  std::atomic<std::uint64_t> retried{0};     ///< Items and requests that were sent again.
  std::atomic<std::uint64_t> documents{0};   ///< Actions that the target took.
  std::atomic<std::uint64_t> bytes{0};       ///< Of the bodies that it took.
  std::atomic<std::uint64_t> quarantined{0}; ///< Documents put aside at the target now.
  std::array<histogram, write_results> latency{};

  /// Why nothing is written now: `cluster block: index t: …`. Empty: nothing is in the way.
  void waits(std::string_view why) {
    if (why.empty() && !is_waiting_.load(std::memory_order_relaxed))
      return;
    const std::lock_guard hold{guard_};
    why_ = why;
    is_waiting_.store(!why.empty(), std::memory_order_relaxed);
  }
  [[nodiscard]] std::string why() const {
    const std::lock_guard hold{guard_};
    return why_;
  }

  /// Where its documents go.
  void writes_to(std::vector<std::string> names) {
    const std::lock_guard hold{guard_};
    names_ = std::move(names);
  }
  [[nodiscard]] std::vector<std::string> names() const {
    const std::lock_guard hold{guard_};
    return names_;
  }

private:
  mutable std::mutex guard_;
  std::atomic<bool> is_waiting_{false};
  std::string why_;
  std::vector<std::string> names_;
};

} // namespace cdc::sinks
