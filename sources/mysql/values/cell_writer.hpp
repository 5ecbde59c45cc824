#pragma once

#include <algorithm>
#include <cstddef>

#include "messages/block.hpp"

namespace cdc::sources::mysql {

/// Room in a block's arena for the cells of one event, enlarged where a value needs more. Between
/// the first room() and finish() nobody else may take room in the block.
class cell_writer {
public:
  cell_writer(block_builder& out, std::size_t size) : out_(out) { open(size); }

  [[nodiscard]] block_builder& block() noexcept { return out_; }

  /// At least `size` bytes to write the next value to.
  [[nodiscard]] char* room(std::size_t size) {
    if (static_cast<std::size_t>(limit_ - end_) < size) [[unlikely]] {
      out_.trim(end_);
      open(size + spare);
    }
    return end_;
  }

  /// The next cell is what was written from room() to `end`.
  void cell(char* end) {
    out_.piece(end_, end);
    end_ = end;
  }

  void finish() { out_.trim(end_); }

private:
  static constexpr std::size_t spare = 256;

  void open(std::size_t size) {
    end_ = out_.space(size);
    limit_ = end_ + size;
  }

  block_builder& out_;
  char* end_ = nullptr;
  char* limit_ = nullptr;
};

} // namespace cdc::sources::mysql
