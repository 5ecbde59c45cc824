#pragma once

#include <cstdint>
#include <string_view>

#include "engine/routes.hpp"
#include "engine/supplied_cells.hpp"
#include "messages/block.hpp"

namespace cdc::engine {

/// Appends a copied row overlaid by what the stream supplied; returns its first cell. Columns of
/// two shapes are matched by their attribute numbers.
[[nodiscard]] std::uint32_t append_merged(block& to, const block& from, std::uint32_t row,
                                          const route& shape, const supplied_cells& over);

/// True when the stream supplied columns that `written` does not have.
[[nodiscard]] bool has_later_columns(const supplied_cells& cells, const relation& written);

/// Appends the supplied cells that `written` does not have, with the key; the rest is absent.
[[nodiscard]] std::uint32_t append_later_columns(block& to, const supplied_cells& cells,
                                                 const relation& written);

/// Appends an image that has the key's values only; the rest is NULL.
[[nodiscard]] std::uint32_t append_key(block& to, const route& shape, std::string_view encoded_key);

/// Appends a change's two images with what the new one lacks taken from the old: all of it, or the
/// key's columns. Returns the first cell of the old image; the new one is right behind it.
[[nodiscard]] std::uint32_t append_filled(block& to, const block& from, const route& shape,
                                          std::uint32_t before, std::uint32_t after,
                                          before_image holds);

} // namespace cdc::engine
