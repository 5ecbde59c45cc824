#include "config/percent.hpp"

namespace cdc::config {

namespace {

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9')
    return letter - '0';
  if (letter >= 'a' && letter <= 'f')
    return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F')
    return letter - 'A' + 10;
  return -1;
}

} // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

} // namespace cdc::config
