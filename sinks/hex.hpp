#pragma once

#include <array>
#include <cstdint>

namespace cdc::sinks {

/// What a hex digit of either case stands for; by its byte. -1: it is none.
inline constexpr auto hex_values = [] {
  std::array<std::int8_t, 256> out{};
  out.fill(-1);
  for (int i = 0; i < 10; ++i)
    out[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
  for (int i = 0; i < 6; ++i) {
    out[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
    out[static_cast<std::size_t>('A' + i)] = static_cast<std::int8_t>(10 + i);
  }
  return out;
}();

/// The byte that two hex digits stand for, 0 to 255; negative when one is none. Several may be ORed
/// to see whether all were digits.
[[nodiscard]] inline int byte_of_hex(const char* digits) noexcept {
  const int high = hex_values[static_cast<unsigned char>(digits[0])];
  const int low = hex_values[static_cast<unsigned char>(digits[1])];
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

} // namespace cdc::sinks
