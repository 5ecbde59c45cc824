#pragma once

#include <cstdint>

#include "messages/block.hpp"
#include "tests/simulation/source.hpp"

namespace cdc::simulation {

/// One replication connection: the log from a position on, as blocks.
class log_reader {
public:
  /// Transactions that end at or below `from` are not sent.
  log_reader(const source& log, position from, block_pool& pool);

  /// The next block with `rows` changes at most, across transactions or inside one; null: nothing
  /// more is in the log.
  [[nodiscard]] block_ptr next(std::size_t rows);
  /// Says how far the log is; null inside a transaction, or while there is more to send.
  [[nodiscard]] block_ptr advance();

  [[nodiscard]] bool is_empty() const { return at_ == log_.entries().size(); }
  [[nodiscard]] position told() const { return told_; } ///< The highest position that was sent.
  /// Rows that were inserted, updated or deleted in what was sent.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

private:
  void write(const row_change& change);
  [[nodiscard]] transaction describe(const source::entry& at) const;

  const source& log_;
  block_builder builder_;
  std::size_t at_ = 0;     ///< The entry that is being sent …
  std::size_t change_ = 0; ///< … and its next change.
  bool is_inside_ = false;
  position told_;
  std::uint64_t rows_ = 0;
};

/// Writes one row of a keyed table, and of a keyless one, as an image.
void write_row(block_builder& to, std::size_t key, const std::array<int, values>& value,
               unsigned present = 7);
void write_bag_row(block_builder& to, std::size_t v, std::size_t w, bool has_tail = true);

} // namespace cdc::simulation
