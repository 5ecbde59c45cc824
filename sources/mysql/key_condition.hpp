#pragma once

#include <span>
#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/mysql/values/column_type.hpp"

namespace cdc::sources::mysql {

/// ` WHERE …`: one row by its key, encoded from canonical values. `types` are those of the shape's
/// columns. A collation may find a row whose key is not the same: the caller compares.
[[nodiscard]] result<std::string> where_key(const relation& shape,
                                            std::span<const column_type> types,
                                            std::string_view encoded);

} // namespace cdc::sources::mysql
