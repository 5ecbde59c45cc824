#pragma once

#include <cstddef>
#include <string_view>

namespace cdc {

/// Length of the well-formed UTF-8 sequence of two bytes or more at `at` (Unicode table 3-7), or 0.
[[nodiscard]] std::size_t utf8_sequence(std::string_view text, std::size_t at) noexcept;

} // namespace cdc
