#include "engine/supplied_cells.hpp"

#include <algorithm>

#include "engine/routes.hpp"

namespace cdc::engine {

supplied_cells::supplied_cells(const supplied_cells& before, route& shape, const block& from,
                               std::uint32_t after) {
  const auto older = [&](std::uint16_t column) {
    return before.empty() ? cell{} : before.of(*shape.shape, column);
  };
  const auto head_size = sizeof(head) + shape.columns * sizeof(cell);
  auto size = head_size;
  for (const auto column : shape.used) {
    const auto given = from.cells[after + column];
    const auto now = given.is_absent() ? older(column) : given;
    size += now.has_value() ? now.size : 0;
  }
  data_.reset(new char[size]);
  const head made{&shape, shape.columns, static_cast<std::uint32_t>(size)};
  std::memcpy(data_.get(), &made, sizeof(head));
  const cell absent{};
  for (std::size_t i = 0; i < shape.columns; ++i)
    std::memcpy(data_.get() + sizeof(head) + i * sizeof(cell), &absent, sizeof(cell));
  auto at = static_cast<std::uint32_t>(head_size);
  for (const auto column : shape.used) {
    const auto given = from.cells[after + column];
    auto now = given.is_absent() ? older(column) : given;
    if (now.has_value()) {
      const auto text = given.is_absent() ? before.text(now) : from.text(now);
      std::memcpy(data_.get() + at, text.data(), text.size());
      now.offset = at;
      at += now.size;
    }
    std::memcpy(data_.get() + sizeof(head) + column * sizeof(cell), &now, sizeof(cell));
  }
}

cell supplied_cells::of(const relation& other, std::size_t column) const noexcept {
  const auto& own = *shape().shape;
  if (&own == &other)
    return (*this)[column];
  const auto found =
      std::ranges::find(own.columns, other.columns[column].attribute, &column::attribute);
  return found == own.columns.end()
             ? cell{}
             : (*this)[static_cast<std::size_t>(found - own.columns.begin())];
}

} // namespace cdc::engine
