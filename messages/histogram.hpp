#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cdc {

/// What a histogram held at one moment. `counts[i]` are the samples in bucket i alone, the last
/// bucket being everything above the last bound.
struct histogram_view {
  static constexpr std::array<double, 16> bounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                 0.05,   0.1,   0.25,   0.5,   1.0,  2.5,
                                                 5.0,    10.0,  30.0,   120.0};

  std::array<std::uint64_t, bounds.size() + 1> counts{};
  double sum = 0; ///< Seconds.

  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (const auto one : counts)
      all += one;
    return all;
  }
  /// The bound below which a share of `part` (0 … 1) of the samples lies; 0 without samples, and
  /// the highest bound for what lies above it.
  [[nodiscard]] double quantile(double part) const noexcept {
    const auto wanted = static_cast<double>(count()) * part;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      seen += counts[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted)
        return bounds[i];
    }
    return seen == 0 && count() == 0 ? 0 : bounds.back();
  }
};

/// Durations in fixed buckets. Any thread observes, any thread reads; no lock, no allocation. A
/// reader may see a sample in its bucket and not yet in the sum.
class histogram {
public:
  void observe(double seconds) noexcept {
    if (!(seconds > 0)) // a clock that was set back, or NaN
      seconds = 0;
    std::size_t bucket = 0;
    while (bucket < histogram_view::bounds.size() && seconds > histogram_view::bounds[bucket])
      ++bucket;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<std::uint64_t>(std::fmin(seconds, 1e8) * 1e9),
                           std::memory_order_relaxed);
  }

  [[nodiscard]] histogram_view view() const noexcept {
    histogram_view seen;
    for (std::size_t i = 0; i < counts_.size(); ++i)
      seen.counts[i] = counts_[i].load(std::memory_order_relaxed);
    seen.sum = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
    return seen;
  }

private:
  std::array<std::atomic<std::uint64_t>, histogram_view::bounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> nanoseconds_{0};
};

} // namespace cdc
