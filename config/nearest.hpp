#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cdc::config {

/// The candidate that `word` was probably meant to be: the one with the fewest letters to add,
/// drop, change or swap, when that is at most half of them, or one that `word` begins or is begun
/// by.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);

} // namespace cdc::config
