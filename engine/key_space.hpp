#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/load.hpp"
#include "messages/relation.hpp"

namespace cdc::engine {

/// Tells which range of a table a key falls in, where the program can order the key as the source
/// does: integers, uuids, and rows of them.
class key_space {
public:
  /// Stands for every range of the table.
  static constexpr std::uint32_t any = 0xffff'ffff;

  /// Knows nothing: every key may be in any range.
  key_space() = default;
  /// Also knows nothing when the plan is not by key, a column's order is the database's own, or the
  /// ranges do not cover the key from end to end.
  key_space(const relation& shape, const load_plan& plan);

  [[nodiscard]] bool knows() const noexcept { return !parts_.empty(); }

  /// The range of an encoded key (row_key.hpp), or `any`.
  [[nodiscard]] std::uint32_t range_of(std::string_view encoded) const;

private:
  enum class part : std::uint8_t { integer, uuid };

  [[nodiscard]] std::uint32_t range_of_integer(std::string_view encoded) const;

  std::vector<part> parts_;
  /// Where each range but the first begins, in a form that sorts as the key does.
  std::vector<std::string> bounds_;
  std::vector<std::uint64_t> integer_bounds_; ///< The same for a key of one integer.
};

} // namespace cdc::engine
