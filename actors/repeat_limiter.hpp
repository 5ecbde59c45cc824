#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cdc::log {

/// Keeps a line that is said again and again from drowning the others. Pure; one thread at a time.
///
/// A line that was said less than `quiet` ago is held back and counted; the next one let through
/// carries the count. At most `lines_max` different lines are remembered: beyond that, all pass.
class repeat_limiter {
public:
  using clock = std::chrono::steady_clock;

  explicit repeat_limiter(clock::duration quiet = std::chrono::seconds{10},
                          std::size_t lines_max = 512)
      : quiet_(quiet), lines_max_(lines_max) {}

  struct decision {
    bool passes = true;
    std::uint64_t held_back = 0; ///< Like lines that were held back before this one.
  };
  [[nodiscard]] decision ask(std::string_view line, clock::time_point now);

  /// A line with its count, for each that was held back and not told since.
  struct remainder {
    std::string line;
    std::uint64_t held_back = 0;
  };
  [[nodiscard]] std::vector<remainder> take_remainders();

private:
  struct memory {
    clock::time_point said;
    std::uint64_t held_back = 0;
  };
  void forget_old(clock::time_point now);

  clock::duration quiet_;
  std::size_t lines_max_;
  std::unordered_map<std::string, memory> lines_;
};

} // namespace cdc::log
