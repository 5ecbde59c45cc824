#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace cdc::config {

/// The name with its ASCII letters small: how SQLite compares names.
[[nodiscard]] inline std::string fold(std::string_view name) {
  std::string out{name};
  std::ranges::transform(out, out.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return out;
}

} // namespace cdc::config
