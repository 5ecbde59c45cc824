#pragma once

#include <string_view>

#include "messages/target_table.hpp"

namespace cdc::sinks::sqlite {

/// The type a column is created with, in a STRICT table.
[[nodiscard]] std::string_view declared_type(const target_table& table, const target_column& column,
                                             bool numeric_as_number) noexcept;

/// True when a column declared as `type` keeps every value that `wanted` (a declared_type) can
/// have, byte for byte. In a table that is not STRICT the type's affinity decides. One concession:
/// REAL may hold ANY's numbers there, and loses the sign of a zero.
[[nodiscard]] bool holds(std::string_view type, bool is_strict, std::string_view wanted);

} // namespace cdc::sinks::sqlite
