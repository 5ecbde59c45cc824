#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/load.hpp"

/// Ranges and keys as conditions that the server compares by: never in our memory, whose order is
/// not that of its collations.
namespace cdc::sources::mysql {

/// How the values of a key column are written as SQL literals.
enum class literal_form : std::uint8_t {
  number,    ///< As it stands: integers of either sign, decimals.
  quoted,    ///< A date, a time, an address, a uuid: no letter that has to be escaped.
  hex,       ///< The bytes in the column's own character set, in hex.
  unordered, ///< Cannot bound a range: ENUM, SET, BIT, YEAR, FLOAT, DOUBLE …
};

struct key_part {
  std::string name;
  literal_form form = literal_form::unordered;
  std::string charset{}; ///< Of `hex`: an introducer's name, or empty for bytes.
  bool is_unsigned = false;

  bool operator==(const key_part&) const = default;
};

/// `X'0aff'`: a string literal that no sql_mode and no character set can misread.
[[nodiscard]] std::string hex_literal(std::string_view bytes);

/// A value as SELECT gives it for a bound: itself, or its bytes in hex.
[[nodiscard]] std::string bound_expression(const key_part& part);
/// A bound's value as a literal. errc::malformed_message when it is none of its form: it comes back
/// from a target's record.
[[nodiscard]] result<std::string> bound_literal(const key_part& part, std::string_view value);

/// ` WHERE …`: the keys from a range's `from` to below its `to`, which may name fewer columns than
/// the key has; empty when both are open. Spelled out column by column, because the servers do not
/// use an index for a comparison of rows.
[[nodiscard]] result<std::string> where_range(std::span<const key_part> key,
                                              const load_range& range);
/// The keys above `bound`, without WHERE.
[[nodiscard]] result<std::string> is_above(std::span<const key_part> key,
                                           const std::vector<std::string>& bound);

} // namespace cdc::sources::mysql
