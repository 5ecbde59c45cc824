#include "messages/utf8.hpp"

namespace cdc {

namespace {

constexpr bool is_continuation(unsigned char byte) noexcept {
  return (byte & 0xC0) == 0x80;
}

} // namespace

std::size_t utf8_sequence(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto lead = byte(0);
  const auto second = byte(1);
  if (lead >= 0xC2 && lead <= 0xDF)
    return is_continuation(static_cast<unsigned char>(second)) ? 2 : 0;
  const auto tail = [&](std::size_t i) {
    return is_continuation(static_cast<unsigned char>(byte(i)));
  };
  if (lead >= 0xE0 && lead <= 0xEF) {
    const auto low = lead == 0xE0 ? 0xA0U : 0x80U;
    const auto high = lead == 0xED ? 0x9FU : 0xBFU; // no surrogates
    return second >= low && second <= high && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const auto low = lead == 0xF0 ? 0x90U : 0x80U;
    const auto high = lead == 0xF4 ? 0x8FU : 0xBFU;
    return second >= low && second <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

} // namespace cdc
