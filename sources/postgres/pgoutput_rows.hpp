#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/block.hpp"
#include "messages/error.hpp"
#include "messages/relation.hpp"

/// The messages of pgoutput that carry rows, decoded straight into a block: one copy of each value,
/// no allocation a row.
///
/// A message must have as many columns as `shape`, in text form. One that is malformed is refused
/// with errc::malformed_message and leaves the block as it was.
namespace cdc::sources::postgres {

/// The table an Insert, Update or Delete is about; 0 when the message is too short to say.
[[nodiscard]] std::uint32_t relation_of(std::span<const std::byte> message) noexcept;

[[nodiscard]] result<void> append_insert(block_builder& out, const relation_ptr& shape,
                                         std::span<const std::byte> message);

/// A value that did not change and was left out is absent, unless the old row has it: under
/// REPLICA IDENTITY FULL every column's, otherwise the identity's own.
[[nodiscard]] result<void> append_update(block_builder& out, const relation_ptr& shape,
                                         std::span<const std::byte> message);

[[nodiscard]] result<void> append_remove(block_builder& out, const relation_ptr& shape,
                                         std::span<const std::byte> message);

} // namespace cdc::sources::postgres
