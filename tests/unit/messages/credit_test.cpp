#include "messages/credit.hpp"

#include <cstdint>
#include <deque>
#include <random>

#include <gtest/gtest.h>

namespace cdc {
namespace {

TEST(credit_window, opens_until_either_bound_is_reached) {
  credit_window blocks{{.blocks = 2, .bytes = 1000}};
  blocks.spend(1);
  EXPECT_TRUE(blocks.open());
  blocks.spend(1);
  EXPECT_FALSE(blocks.open());

  credit_window bytes{{.blocks = 100, .bytes = 1000}};
  bytes.spend(999);
  EXPECT_TRUE(bytes.open());
  bytes.spend(5000); // one item may pass the bound, or a giant row would never travel
  EXPECT_FALSE(bytes.open());
}

TEST(credit_window, opens_again_when_credit_comes_back) {
  credit_window window{{.blocks = 1, .bytes = 1000}};
  window.spend(10);
  ASSERT_FALSE(window.open());

  window.restore({.blocks = 1, .bytes = 10});

  EXPECT_TRUE(window.open());
  EXPECT_EQ(window.out(), credit{});
}

TEST(credit_ledger, hands_back_in_steps_of_a_quarter_window) {
  credit_ledger ledger{{.blocks = 16, .bytes = 1 << 20}};
  for (int i = 0; i < 3; ++i) {
    ledger.done(10);
    EXPECT_EQ(ledger.take(false), credit{});
  }
  ledger.done(10);

  EXPECT_EQ(ledger.take(false), (credit{.blocks = 4, .bytes = 40}));
  EXPECT_EQ(ledger.owed(), credit{});
}

TEST(credit_ledger, holds_nothing_back_from_a_sender_that_may_starve) {
  credit_ledger ledger{{.blocks = 16, .bytes = 1 << 20}};
  ledger.done(10);

  EXPECT_EQ(ledger.take(true), (credit{.blocks = 1, .bytes = 10}));
  EXPECT_EQ(ledger.take(true), credit{});
}

/// A sender that always has an item, and a receiver that never claims to be idle.
struct hop {
  credit_window sender;
  credit_ledger receiver;
  std::deque<std::uint64_t> mailbox;
  std::uint64_t passed = 0;

  explicit hop(credit window) : sender(window), receiver(window) {}

  void send(std::uint64_t bytes) {
    sender.spend(bytes);
    mailbox.push_back(bytes);
  }
  void receive() {
    receiver.done(mailbox.front());
    mailbox.pop_front();
    ++passed;
    if (const auto back = receiver.take(false); back.blocks > 0)
      sender.restore(back);
  }
};

TEST(credit, never_deadlocks_a_hop_of_any_window) {
  std::mt19937 random{7};
  for (std::uint32_t blocks = 1; blocks <= 20; ++blocks) {
    for (const std::uint64_t bytes : {1, 2, 3, 7, 100, 1000}) {
      hop hop{{.blocks = blocks, .bytes = bytes}};
      for (int i = 0; i < 500; ++i) {
        if (hop.sender.open() && random() % 3 != 0)
          hop.send(random() % (bytes * 2));
        else if (!hop.mailbox.empty())
          hop.receive();
        ASSERT_LE(hop.mailbox.size(), blocks);
        ASSERT_LE(hop.sender.out().blocks, blocks);
        ASSERT_TRUE(hop.sender.open() || !hop.mailbox.empty())
            << "all was received, yet a window of " << blocks << " blocks and " << bytes
            << " bytes is shut";
      }
      EXPECT_GT(hop.passed, 100u);
    }
  }
}

TEST(credit, is_neither_lost_nor_made) {
  std::mt19937 random{7};
  const credit window{.blocks = 8, .bytes = 1000};
  hop hop{window};
  for (int i = 0; i < 10'000; ++i) {
    if (hop.sender.open() && random() % 2 == 0)
      hop.send(random() % 300);
    else if (!hop.mailbox.empty())
      hop.receive();
    auto held = hop.receiver.owed();
    for (const auto bytes : hop.mailbox)
      held += {.blocks = 1, .bytes = bytes};
    ASSERT_EQ(held, hop.sender.out());
  }
}

} // namespace
} // namespace cdc
