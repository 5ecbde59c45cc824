#include "engine/row_merge.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "messages/row_key.hpp"

namespace cdc::engine {

namespace {

void append_text(block& to, std::string_view text) {
  const auto needed = to.arena_used + text.size();
  if (needed > to.arena.size())
    to.arena.resize(std::max(needed + needed / 2, std::size_t{4} << 10));
  if (!text.empty())
    std::memcpy(to.arena.data() + to.arena_used, text.data(), text.size());
  to.cells.push_back({.offset = static_cast<std::uint32_t>(to.arena_used),
                      .size = static_cast<std::uint32_t>(text.size())});
  to.arena_used = needed;
}

void append_cell(block& to, const block& from, cell at) {
  if (at.has_value())
    append_text(to, from.text(at));
  else
    to.cells.push_back(at);
}

void append_supplied(block& to, const supplied_cells& from, cell at) {
  if (at.has_value())
    append_text(to, from.text(at));
  else
    to.cells.push_back(at);
}

std::uint32_t next_cell(const block& of) {
  return static_cast<std::uint32_t>(of.cells.size());
}

bool is_later(const supplied_cells& cells, std::size_t column, const relation& written) {
  const auto attribute = cells.shape().shape->columns[column].attribute;
  return !cells[column].is_absent() &&
         std::ranges::find(written.columns, attribute, &column::attribute) == written.columns.end();
}

bool is_key(const route& shape, std::size_t column) {
  return std::ranges::find(shape.key, static_cast<std::uint16_t>(column)) != shape.key.end();
}

} // namespace

std::uint32_t append_merged(block& to, const block& from, std::uint32_t row, const route& shape,
                            const supplied_cells& over) {
  const auto first = next_cell(to);
  for (std::size_t i = 0; i < shape.columns; ++i) {
    const auto newer = over.of(*shape.shape, i);
    if (newer.is_absent())
      append_cell(to, from, from.cells[row + i]);
    else
      append_supplied(to, over, newer);
  }
  return first;
}

bool has_later_columns(const supplied_cells& cells, const relation& written) {
  if (cells.shape().shape.get() == &written)
    return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (is_later(cells, i, written))
      return true;
  }
  return false;
}

std::uint32_t append_later_columns(block& to, const supplied_cells& cells,
                                   const relation& written) {
  const auto first = next_cell(to);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (is_key(cells.shape(), i) || is_later(cells, i, written))
      append_supplied(to, cells, cells[i]);
    else
      to.cells.push_back({});
  }
  return first;
}

std::uint32_t append_key(block& to, const route& shape, std::string_view encoded_key) {
  const auto first = next_cell(to);
  const auto values = decode_key(encoded_key);
  for (std::size_t i = 0; i < shape.columns; ++i) {
    const auto part = std::ranges::find(shape.key, static_cast<std::uint16_t>(i));
    const auto place = static_cast<std::size_t>(part - shape.key.begin());
    if (part != shape.key.end() && values && place < values->size())
      append_text(to, (*values)[place]);
    else
      to.cells.push_back({.offset = 0, .size = cell::null_size});
  }
  return first;
}

std::uint32_t append_filled(block& to, const block& from, const route& shape, std::uint32_t before,
                            std::uint32_t after, before_image holds) {
  const auto first = next_cell(to);
  for (std::size_t i = 0; i < shape.columns; ++i)
    append_cell(to, from, from.cells[before + i]);
  for (std::size_t i = 0; i < shape.columns; ++i) {
    const auto& now = from.cells[after + i];
    const auto is_held = holds == before_image::full || is_key(shape, i);
    append_cell(to, from, now.is_absent() && is_held ? from.cells[before + i] : now);
  }
  return first;
}

} // namespace cdc::engine
