#pragma once

#include <cstdint>

namespace cdc::simulation {

/// A small seeded stream of numbers: the same seed gives the same history on every machine.
class dice {
public:
  explicit dice(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e37'79b9'7f4a'7c15;
    auto mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xbf58'476d'1ce4'e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d0'49bb'1331'11eb;
    return mixed ^ mixed >> 31;
  }
  /// 0 … bound - 1.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }
  bool one_in(std::uint32_t bound) noexcept { return below(bound) == 0; }

private:
  std::uint64_t state_;
};

} // namespace cdc::simulation
