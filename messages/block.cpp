#include "messages/block.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

namespace cdc {

namespace {

// One giant row must not be paid for by every block of the pool ever after.
constexpr std::size_t arena_kept_max = std::size_t{4} << 20;

void empty_out(block& kept) {
  if (kept.arena.size() > arena_kept_max)
    std::vector<char>{}.swap(kept.arena); // an assignment would keep the capacity
  kept.arena_used = 0;
  kept.cells.clear();
  kept.events.clear();
  kept.transactions.clear();
  kept.relations.clear();
}

} // namespace

std::shared_ptr<block> block_pool::acquire() {
  for (const auto& kept : blocks_) {
    if (kept.use_count() != 1)
      continue;
    auto lent = kept;
#ifndef __SANITIZE_THREAD__
    // The last reader released it with a release decrement: from here on the block is ours alone.
    // (The thread sanitizer knows no fences; it is content with the increment above.)
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
    empty_out(*lent);
    return lent;
  }
  auto made = std::make_shared<block>();
  if (blocks_.size() < blocks_max_)
    blocks_.push_back(made);
  return made;
}

block_builder::block_builder(block_pool& pool, block_limits limits)
    : pool_(pool), limits_(limits), block_(pool.acquire()) {
  // nop
}

void block_builder::begin(const transaction& started) {
  block_->events.push_back(
      {.what = operation::begin, .first = static_cast<std::uint32_t>(block_->transactions.size())});
  block_->transactions.push_back(started);
}

void block_builder::commit(const transaction& ended) {
  block_->events.push_back({.what = operation::commit,
                            .first = static_cast<std::uint32_t>(block_->transactions.size())});
  block_->transactions.push_back(ended);
}

void block_builder::advance(position end) {
  block_->events.push_back({.what = operation::advance,
                            .first = static_cast<std::uint32_t>(block_->transactions.size())});
  block_->transactions.push_back({.final = {}, .end = end});
}

void block_builder::truncate(const relation_ptr& shape) {
  block_->events.push_back({.what = operation::truncate,
                            .relation = index_of(shape),
                            .first = static_cast<std::uint32_t>(block_->cells.size())});
}

void block_builder::row(operation what, const relation_ptr& shape, before_image before) {
  block_->events.push_back({.what = what,
                            .before = before,
                            .relation = index_of(shape),
                            .first = static_cast<std::uint32_t>(block_->cells.size())});
}

void block_builder::null() {
  block_->cells.push_back({.offset = 0, .size = cell::null_size});
}

void block_builder::absent() {
  auto& open = block_->events.back();
  const auto columns = block_->relations[open.relation]->columns.size();
  const auto before =
      open.what == operation::update && open.before != before_image::none ? columns : 0;
  if (open.what != operation::remove && block_->cells.size() >= open.first + before)
    open.is_partial = true;
  block_->cells.push_back({});
}

void block_builder::value(std::string_view bytes) {
  auto* space = value_space(bytes.size());
  if (!bytes.empty())
    std::memcpy(space, bytes.data(), bytes.size());
}

char* block_builder::space(std::size_t size) {
  auto* begin = reserve(size);
  block_->arena_used += size;
  return begin;
}

char* block_builder::value_space(std::size_t size) {
  assert(size < cell::absent_size);
  auto* space = reserve(size);
  block_->cells.push_back({.offset = static_cast<std::uint32_t>(block_->arena_used),
                           .size = static_cast<std::uint32_t>(size)});
  block_->arena_used += size;
  return space;
}

void block_builder::shrink_value(std::size_t size) {
  auto& last = block_->cells.back();
  assert(size <= last.size);
  block_->arena_used -= last.size - size;
  last.size = static_cast<std::uint32_t>(size);
}

// The bytes of the event's cells stay in the arena until the block is taken: nothing refers to
// them.
void block_builder::roll_back() {
  const auto open = block_->events.back();
  block_->events.pop_back();
  if (open.what == operation::begin || open.what == operation::commit ||
      open.what == operation::advance)
    block_->transactions.pop_back();
  else
    block_->cells.resize(open.first);
}

bool block_builder::full() const noexcept {
  return block_->events.size() >= limits_.events || block_->bytes() >= limits_.bytes;
}

block_ptr block_builder::take() {
  last_relation_ = 0;
  return std::exchange(block_, pool_.acquire());
}

std::uint16_t block_builder::index_of(const relation_ptr& shape) {
  auto& known = block_->relations;
  if (last_relation_ < known.size() && known[last_relation_] == shape)
    return last_relation_;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == shape)
      return last_relation_ = static_cast<std::uint16_t>(i);
  }
  known.push_back(shape);
  return last_relation_ = static_cast<std::uint16_t>(known.size() - 1);
}

char* block_builder::reserve(std::size_t size) {
  const auto needed = block_->arena_used + size;
  if (needed > block_->arena.size())
    block_->arena.resize(std::max(needed + needed / 2, std::size_t{64} << 10));
  return block_->arena.data() + block_->arena_used;
}

} // namespace cdc
