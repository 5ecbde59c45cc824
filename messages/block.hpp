#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "messages/position.hpp"
#include "messages/relation.hpp"
#include "messages/transaction_id.hpp"

namespace cdc {

/// One value of one row: absent (the log left it out), NULL, or bytes in the block's arena.
struct cell {
  static constexpr std::uint32_t null_size = 0xffff'ffff;
  static constexpr std::uint32_t absent_size = 0xffff'fffe;

  std::uint32_t offset = 0;
  std::uint32_t size = absent_size;

  [[nodiscard]] bool is_null() const noexcept { return size == null_size; }
  [[nodiscard]] bool is_absent() const noexcept { return size == absent_size; }
  [[nodiscard]] bool has_value() const noexcept { return size < absent_size; }

  bool operator==(const cell&) const = default;
};

enum class operation : std::uint8_t {
  begin,    ///< `first` indexes transactions. Its `end` is not known yet.
  commit,   ///< `first` indexes transactions. Everything of it has been sent.
  insert,   ///< After-image at `first`.
  update,   ///< [before-image,] after-image at `first`.
  remove,   ///< Before-image at `first`.
  truncate, ///< One event per relation, in the order of the statement.
  advance,  ///< Outside a transaction: nothing below transactions[first].end is still to come.
  row,      ///< A copied row of the initial load; after-image at `first`.
};

/// Which old values the log carries.
enum class before_image : std::uint8_t {
  none,
  key,  ///< The replica identity's columns; all others are NULL in it and mean nothing.
  full, ///< Every column.
};

/// One change. An image is as many cells as its relation has columns; an update with a before-image
/// has the old cells first and the new ones right behind them.
struct event {
  operation what = operation::begin;
  before_image before = before_image::none;
  bool is_partial = false;    ///< The after-image has an absent cell.
  std::uint16_t relation = 0; ///< Index into block::relations.
  std::uint32_t first = 0;

  bool operator==(const event&) const = default;
};

/// What a source says of one transaction. All of it is known at its end, all but `end` at its
/// begin.
struct transaction {
  position final{}; ///< Of the commit record: versions and E are made of it.
  position end{};   ///< Behind the commit: resumed from, and reported to the source.
  transaction_id id = 0;
  std::int64_t commit_time = 0; ///< Microseconds since 1970-01-01 UTC.

  bool operator==(const transaction&) const = default;
};

/// The unit that travels between actors: one arena, flat vectors, no allocation per row.
///
/// Written by one owner through block_builder, then immutable (`block_ptr` is to const) and shared.
/// A block may begin and end inside a transaction. Printing one prints counts, never a cell.
struct block {
  std::vector<char> arena; ///< Sized once, filled from the front; `arena_used` bytes are valid.
  std::size_t arena_used = 0;
  std::vector<cell> cells;
  std::vector<event> events;
  std::vector<transaction> transactions;
  std::vector<relation_ptr> relations;

  [[nodiscard]] std::string_view text(cell at) const noexcept {
    return {arena.data() + at.offset, at.size};
  }

  /// The image of `at`: as many cells as its relation has columns.
  [[nodiscard]] std::span<const cell> image(std::uint32_t first, const relation& shape) const {
    return std::span{cells}.subspan(first, shape.columns.size());
  }

  /// What this block costs against a credit window.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return arena_used + cells.size() * sizeof(cell) + events.size() * sizeof(event);
  }
};

using block_ptr = std::shared_ptr<const block>;

/// Owns blocks and hands them out again once nobody else holds them. Belongs to one thread; the
/// blocks it lent may be released on any.
class block_pool {
public:
  /// `blocks_max` blocks are kept for reuse; more are made when asked for, and freed by their user.
  explicit block_pool(std::size_t blocks_max = 16) : blocks_max_(blocks_max) {}

  /// An empty block with its capacity kept from before, but no arena above 4 MiB.
  [[nodiscard]] std::shared_ptr<block> acquire();

private:
  std::size_t blocks_max_;
  std::vector<std::shared_ptr<block>> blocks_;
};

/// When a block is full. A block may pass `bytes` by one row.
struct block_limits {
  std::size_t events = 1000;
  std::size_t bytes = std::size_t{1} << 20;
};

/// Fills one block after another. Not a check on its caller: an image must get as many cells as its
/// relation has columns, and the source's decoder makes sure of that.
class block_builder {
public:
  explicit block_builder(block_pool& pool, block_limits limits = {});

  void begin(const transaction& started);
  void commit(const transaction& ended);
  void advance(position end);
  void truncate(const relation_ptr& shape);

  /// Starts an event with images; add its cells with null(), absent() and value(). If the message
  /// turns out to be malformed, roll_back() forgets the event begun last.
  void row(operation what, const relation_ptr& shape, before_image before = before_image::none);
  void null();
  void absent(); ///< Marks the event partial when it stands in the after-image.
  void value(std::string_view bytes);

  /// Room for several values of one event, `size` bytes together, that the caller fills and then
  /// divides with piece(). Until trim() only cells without bytes of their own may come between.
  [[nodiscard]] char* space(std::size_t size);
  /// The next cell is [begin, end) of the last space().
  void piece(const char* begin, const char* end) {
    block_->cells.push_back({.offset = static_cast<std::uint32_t>(begin - block_->arena.data()),
                             .size = static_cast<std::uint32_t>(end - begin)});
  }
  /// Gives back what the last space() has behind `end`.
  void trim(const char* end) {
    block_->arena_used = static_cast<std::size_t>(end - block_->arena.data());
  }
  /// The next cell is the one `back` cells ago, bytes and all: an update's old value, once more.
  void repeat(std::size_t back) {
    const auto same = block_->cells[block_->cells.size() - back];
    block_->cells.push_back(same);
  }

  /// Room for a value of `size` bytes that the caller fills; the cell is complete at once.
  /// Valid until the next call.
  [[nodiscard]] char* value_space(std::size_t size);
  /// Shortens the value made by the last value_space() to what was needed.
  void shrink_value(std::size_t size);

  void roll_back();

  [[nodiscard]] bool empty() const noexcept { return block_->events.empty(); }
  [[nodiscard]] bool full() const noexcept;
  [[nodiscard]] std::size_t events() const noexcept { return block_->events.size(); }

  /// The block as it stands; the builder goes on with an empty one.
  [[nodiscard]] block_ptr take();

private:
  [[nodiscard]] std::uint16_t index_of(const relation_ptr& shape);
  char* reserve(std::size_t size);

  block_pool& pool_;
  block_limits limits_;
  std::shared_ptr<block> block_;
  std::uint16_t last_relation_ = 0;
};

} // namespace cdc
