#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "messages/block.hpp"

namespace cdc {
namespace {

TEST(block_pool, hands_out_again_what_nobody_holds_any_more) {
  block_pool pool;
  const auto* first = pool.acquire().get();

  EXPECT_EQ(pool.acquire().get(), first);
}

TEST(block_pool, never_hands_out_what_somebody_holds) {
  block_pool pool;
  auto lent = pool.acquire();
  block_ptr read = lent;
  const auto* held = lent.get();
  lent.reset();

  EXPECT_NE(pool.acquire().get(), held);
  read.reset();
  EXPECT_EQ(pool.acquire().get(), held);
}

TEST(block_pool, makes_more_than_it_keeps) {
  block_pool pool{1};
  const auto kept = pool.acquire();
  auto extra = pool.acquire();
  std::weak_ptr<block> watched = extra;

  extra.reset();

  EXPECT_TRUE(watched.expired());
}

TEST(block_pool, gives_an_emptied_block_that_kept_its_capacity) {
  block_pool pool;
  block_builder builder{pool};
  const auto shape = std::make_shared<const relation>(relation{.columns = {column{}}});
  for (int i = 0; i < 1000; ++i) {
    builder.begin({});
    builder.row(operation::insert, shape);
    builder.value("a value of some length");
  }
  const auto* used = builder.take().get();

  const auto again = pool.acquire();
  ASSERT_EQ(again.get(), used);
  EXPECT_EQ(again->arena_used, 0u);
  EXPECT_TRUE(again->cells.empty() && again->events.empty());
  EXPECT_TRUE(again->transactions.empty() && again->relations.empty());
  EXPECT_GE(again->events.capacity(), 2000u);
  EXPECT_GT(again->arena.size(), 0u);
}

TEST(block_pool, does_not_keep_the_arena_of_a_giant_row) {
  block_pool pool;
  const auto* grown = [&] {
    const auto lent = pool.acquire();
    lent->arena.resize((std::size_t{4} << 20) + 1);
    return lent.get();
  }();

  const auto again = pool.acquire();
  ASSERT_EQ(again.get(), grown);
  EXPECT_EQ(again->arena.capacity(), 0u);
}

// The reader checks every block it gets against the value it was written with: a block handed out
// too early would show the writer's next value (and the thread sanitizer would see the race).
TEST(block_pool, takes_back_blocks_that_another_thread_released) {
  constexpr int rounds = 2000;
  block_pool pool{4};
  std::mutex guard;
  std::condition_variable arrived;
  std::deque<std::pair<int, block_ptr>> sent;
  std::atomic<int> wrong = 0;
  std::thread reader{[&] {
    for (int i = 0; i < rounds; ++i) {
      std::unique_lock lock{guard};
      arrived.wait(lock, [&] { return !sent.empty(); });
      const auto [value, got] = std::move(sent.front());
      sent.pop_front();
      lock.unlock();
      wrong += got->text(got->cells.at(0)) != std::to_string(value);
    }
  }};

  const auto shape = std::make_shared<const relation>(relation{.columns = {column{}}});
  block_builder builder{pool};
  for (int i = 0; i < rounds; ++i) {
    builder.row(operation::insert, shape);
    builder.value(std::to_string(i));
    const std::lock_guard lock{guard};
    sent.emplace_back(i, builder.take());
    arrived.notify_one();
  }
  reader.join();

  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace cdc
