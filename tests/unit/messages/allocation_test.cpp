// Counts every allocation of this program: a row must cost none.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include <gtest/gtest.h>

#include "messages/block.hpp"
#include "messages/row_key.hpp"

namespace {
std::atomic<std::uint64_t> allocations = 0;
}

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (auto* made = std::malloc(size == 0 ? 1 : size))
    return made;
  throw std::bad_alloc{};
}

void operator delete(void* at) noexcept {
  std::free(at);
}

void operator delete(void* at, std::size_t) noexcept {
  std::free(at);
}

namespace cdc {
namespace {

relation_ptr three_columns() {
  return std::make_shared<const relation>(
      relation{.columns = {column{}, column{}, column{}}, .key = {0}});
}

void append_rows(block_builder& builder, const relation_ptr& shape, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    builder.row(operation::insert, shape);
    builder.value("0123456789");
    builder.null();
    builder.value("a longer value, of forty bytes or so ....");
    if (builder.full())
      static_cast<void>(builder.take());
  }
}

TEST(allocations, do_not_grow_with_the_rows_that_pass_through_recycled_blocks) {
  block_pool pool;
  block_builder builder{pool};
  const auto shape = three_columns();
  append_rows(builder, shape, 10'000); // the blocks reach their size

  const auto before = allocations.load();
  append_rows(builder, shape, 1'000'000);

  EXPECT_LE(allocations.load() - before, 16u);
}

TEST(allocations, are_not_needed_to_encode_a_key_into_a_used_buffer) {
  block_pool pool;
  block_builder builder{pool};
  const auto shape = three_columns();
  append_rows(builder, shape, 1);
  const auto made = builder.take();
  std::string buffer;
  encode_key(*made, made->image(0, *shape), shape->key, buffer);

  const auto before = allocations.load();
  for (int i = 0; i < 1000; ++i)
    encode_key(*made, made->image(0, *shape), shape->key, buffer);

  EXPECT_EQ(allocations.load(), before);
}

} // namespace
} // namespace cdc
