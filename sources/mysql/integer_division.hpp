#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "messages/error.hpp"

namespace cdc::sources::mysql {

/// Some keys that follow one another, and about how many rows have one of them.
struct key_span {
  std::uint64_t first = 0;
  std::uint64_t last = 0; ///< Included.
  std::uint64_t rows = 0;

  bool operator==(const key_span&) const = default;
};

/// How many rows there are from one key to another, both included: the server's own guess.
using row_estimate = std::function<result<std::uint64_t>(std::uint64_t first, std::uint64_t last)>;

/// Divides a span into spans of about `rows_each` rows, in order and without a gap, by asking for
/// the number of rows in ever smaller parts; parts with few rows are put together. A span of one
/// key is not divided, however many rows it has, nor is any once the questions have become too many.
[[nodiscard]] result<std::vector<key_span>> divide(const key_span& whole, std::uint64_t rows_each,
                                                   const row_estimate& ask);

} // namespace cdc::sources::mysql
