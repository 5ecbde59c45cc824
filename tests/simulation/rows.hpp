#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace cdc::simulation {

inline constexpr std::size_t tables_max = 3;
inline constexpr std::size_t keys_max = 4;
inline constexpr std::size_t values = 3;     ///< Columns a, b, c behind the key.
inline constexpr std::size_t bag_values = 3; ///< A keyless row is (v, w): v of these …
inline constexpr std::size_t bag_tails = 2;  ///< … and w of these.

/// A row of a table with a key. Every value ever written is a new number, so that a stale one
/// shows.
struct row {
  bool is_there = false;
  std::uint8_t place = 0; ///< The page it lies in: every write may move it.
  std::array<int, values> value{};

  [[nodiscard]] bool same_as(const row& other) const noexcept {
    return is_there == other.is_there && (!is_there || value == other.value);
  }
};

using bag = std::array<std::array<int, bag_tails>, bag_values>; ///< How many rows of each kind.

/// What one table holds: rows by key, or, without a key, how often each row is there.
struct content {
  std::array<row, keys_max> rows{};
  bag bags{};
};

using contents = std::array<content, tables_max>;

/// Keys are numbers whose order as text is another: 8, 9, 10, 11.
inline std::string key_text(std::size_t key) {
  return std::to_string(key + 8);
}

/// `(a1 b- c3)`: what is present of three values.
std::string describe(const std::array<int, values>& value, unsigned present = 7);
std::string describe(const row& what);
std::string describe(const bag& what);

} // namespace cdc::simulation
