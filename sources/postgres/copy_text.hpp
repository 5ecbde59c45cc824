#pragma once

#include <string_view>

#include "messages/block.hpp"
#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::sources::postgres {

/// Appends one row of `COPY … TO STDOUT` in text format to `out` as a `row` event of `shape`.
///
/// `line` is what PQgetCopyData returned: a whole row and its newline. It must have exactly as many
/// columns as `shape`. The cells get the bytes that the stream sends for the same values.
/// errc::malformed_message leaves `out` as it was.
[[nodiscard]] result<void> append_copy_row(block_builder& out, const relation_ptr& shape,
                                           std::string_view line);

} // namespace cdc::sources::postgres
