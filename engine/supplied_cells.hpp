#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "messages/block.hpp"

namespace cdc::engine {

struct route;

/// The cells that incomplete changes of one row supplied, in one shape; the others are absent. One
/// piece of memory, or none at all.
class supplied_cells {
public:
  supplied_cells() = default;

  /// The present cells of a change that the target takes, over what was supplied before.
  supplied_cells(const supplied_cells& before, route& shape, const block& from,
                 std::uint32_t after);

  [[nodiscard]] bool empty() const noexcept { return data_ == nullptr; }
  [[nodiscard]] route& shape() const noexcept { return *head_of().shape; }
  [[nodiscard]] std::size_t size() const noexcept { return head_of().count; }
  [[nodiscard]] std::size_t bytes() const noexcept { return empty() ? 0 : head_of().bytes; }

  [[nodiscard]] cell operator[](std::size_t column) const noexcept {
    cell out;
    std::memcpy(&out, data_.get() + sizeof(head) + column * sizeof(cell), sizeof(cell));
    return out;
  }
  [[nodiscard]] std::string_view text(cell at) const noexcept {
    return {data_.get() + at.offset, at.size};
  }
  /// The cell of a column of any shape of the table; absent when there is none.
  [[nodiscard]] cell of(const relation& other, std::size_t column) const noexcept;

private:
  struct head {
    route* shape = nullptr;
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
  };

  [[nodiscard]] head head_of() const noexcept {
    head out;
    std::memcpy(&out, data_.get(), sizeof(head));
    return out;
  }

  std::unique_ptr<char[]> data_; ///< The head, a cell for each column, their text.
};

} // namespace cdc::engine
