#include <gtest/gtest.h>

#include "tests/unit/engine/history.hpp"

namespace cdc::engine::test {
namespace {

using options = history::options;

options loaded(std::size_t changes_max, std::size_t bytes_max = std::size_t{10} << 20) {
  return {.engine = {.batch_changes_max = changes_max, .batch_bytes_max = bytes_max},
          .is_loaded = true};
}

void insert_rows(script& t, int from, int count) {
  for (int i = from; i < from + count; ++i)
    t.insert({std::to_string(i), "a", "b", "c"});
}

batch_ptr next(history& of, bool source_is_empty = true) {
  auto out = of.it->next_batch(source_is_empty);
  EXPECT_TRUE(out);
  return out ? *out : nullptr;
}

void complete(history& of, const batch_ptr& done) {
  EXPECT_TRUE(of.it->completed(of.at.write(*done)));
}

TEST(batching, puts_small_transactions_into_one_batch) {
  history of{loaded(1000)};
  for (std::uint32_t xid = 701; xid < 704; ++xid)
    of.transaction(xid, [&](script& t) { insert_rows(t, static_cast<int>(xid) * 10, 2); });

  const auto one = next(of);

  ASSERT_TRUE(one);
  EXPECT_EQ(one->changes.size(), 6U);
  EXPECT_EQ(one->transactions.size(), 3U);
  EXPECT_EQ(one->transactions[2].id, 703U);
  EXPECT_TRUE(one->ends_transaction);
  EXPECT_EQ(one->reaches, (checkpoint{{1031}, {1030}}));
  EXPECT_EQ(next(of), nullptr);
}

TEST(batching, grows_while_a_write_is_open_and_leaves_when_the_sink_is_free) {
  history of{loaded(1000)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 1); });
  const auto first = next(of);
  of.transaction(702, [](script& t) { insert_rows(t, 2, 1); });
  EXPECT_EQ(next(of), nullptr);
  of.transaction(703, [](script& t) { insert_rows(t, 3, 1); });
  EXPECT_EQ(next(of), nullptr);

  complete(of, first);

  const auto second = next(of);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->changes.size(), 2U);
}

TEST(batching, keeps_a_part_batch_while_the_source_has_more) {
  history of{loaded(1000)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 1); });

  EXPECT_EQ(next(of, false), nullptr);
  EXPECT_NE(next(of, true), nullptr);
}

TEST(batching, a_full_batch_leaves_though_a_write_is_open) {
  history of{loaded(2)};
  for (std::uint32_t xid = 701; xid < 705; ++xid)
    of.transaction(xid, [&](script& t) { insert_rows(t, static_cast<int>(xid), 1); });

  EXPECT_NE(next(of, false), nullptr);
  EXPECT_NE(next(of, false), nullptr);
  EXPECT_EQ(of.it->outstanding(), 2U);
}

TEST(batching, sends_no_more_than_the_sink_takes) {
  history of{loaded(1)};
  for (std::uint32_t xid = 701; xid < 705; ++xid)
    of.transaction(xid, [&](script& t) { insert_rows(t, static_cast<int>(xid), 1); });
  const auto first = next(of);
  EXPECT_NE(next(of), nullptr);

  EXPECT_EQ(next(of), nullptr);
  complete(of, first);
  EXPECT_NE(next(of), nullptr);
}

TEST(batching, sends_a_large_transaction_in_pieces_with_its_position_on_the_last) {
  history of{loaded(4)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 10); });
  std::vector<std::size_t> sizes;

  while (const auto piece = next(of)) {
    sizes.push_back(piece->changes.size());
    EXPECT_EQ(of.it->inside_transaction(), sizes.size() < 3);
    EXPECT_EQ(piece->ends_transaction, sizes.size() == 3);
    EXPECT_EQ(piece->reaches.has_value(), sizes.size() == 3);
    complete(of, piece);
  }

  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
  EXPECT_EQ(of.at.resume, (checkpoint{{1011}, {1010}}));
}

TEST(batching, sends_pieces_as_they_arrive) {
  history of{loaded(4)};
  of.log.begin(701, 1010);
  insert_rows(of.log, 1, 6);
  of.streams(of.log.take());

  const auto piece = next(of);

  ASSERT_TRUE(piece);
  EXPECT_FALSE(piece->ends_transaction);
  EXPECT_EQ(piece->changes.size(), 4U);
  complete(of, piece);
  EXPECT_EQ(next(of), nullptr) << "the rest of the transaction is still to come";
  of.streams(of.log.commit().take());
  const auto last = next(of);
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->ends_transaction);
}

TEST(batching, lets_whole_transactions_leave_without_the_beginning_of_an_open_one) {
  history of{loaded(4)};
  of.log.begin(701, 1010);
  insert_rows(of.log, 1, 3);
  of.log.commit().begin(702, 1020);
  insert_rows(of.log, 10, 3);
  of.streams(of.log.take());

  const auto whole = next(of, false);

  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->changes.size(), 3U);
  EXPECT_TRUE(whole->ends_transaction);
  EXPECT_EQ(whole->reaches, (checkpoint{{1011}, {1010}}));
  complete(of, whole);
  EXPECT_EQ(next(of), nullptr);
  of.streams(of.log.commit().take());
  const auto rest = next(of);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->changes.size(), 3U);
  EXPECT_EQ(rest->transactions.size(), 1U);
  EXPECT_EQ(rest->transactions[rest->changes[0].transaction].id, 702U);
  complete(of, rest);
  EXPECT_EQ(of.at.tables["items"].rows.size(), 6U);
}

TEST(batching, an_idle_source_does_not_make_an_open_transaction_leave) {
  history of{loaded(1000)};
  of.log.begin(701, 1010);
  insert_rows(of.log, 1, 3);
  of.streams(of.log.take());

  EXPECT_EQ(next(of, true), nullptr);
}

TEST(batching, ends_a_piecewise_transaction_at_once_even_without_a_change_left) {
  history of{loaded(4)};
  of.log.begin(701, 1010);
  insert_rows(of.log, 1, 5);
  of.streams(of.log.take());
  complete(of, next(of));
  of.streams(of.log.commit().begin(702, 1020).take());

  const auto last = next(of, false);

  ASSERT_TRUE(last);
  EXPECT_TRUE(last->ends_transaction);
  EXPECT_EQ(last->reaches, (checkpoint{{1011}, {1010}}));
}

TEST(batching, closes_a_batch_by_its_bytes) {
  history of{loaded(1000, 2000)};
  of.transaction(701, [](script& t) {
    for (int i = 0; i < 10; ++i)
      t.insert({std::to_string(i), std::string(900, 'x'), "b", "c"});
  });

  const auto piece = next(of);

  ASSERT_TRUE(piece);
  EXPECT_FALSE(piece->ends_transaction);
  EXPECT_LE(piece->changes.size(), 3U);
  EXPECT_GE(piece->changes.size(), 2U);
}

TEST(batching, leaves_before_the_source_runs_out_of_credit) {
  auto with = loaded(1'000'000);
  with.engine.window = {4, std::uint64_t{1} << 30};
  history of{with};
  of.log.begin(701, 1010);
  insert_rows(of.log, 1, 1);
  of.streams(of.log.take());
  EXPECT_EQ(next(of, false), nullptr);
  insert_rows(of.log, 2, 1);
  of.streams(of.log.take());

  const auto piece = next(of, false);

  ASSERT_TRUE(piece);
  EXPECT_FALSE(piece->ends_transaction);
  complete(of, piece);
  EXPECT_EQ(of.it->take_stream_credit().blocks, 2U);
}

TEST(batching, gives_credit_back_when_no_batch_refers_to_a_block) {
  history of{loaded(2)};
  of.log.begin(701, 1010);
  insert_rows(of.log, 1, 3);
  of.log.commit();
  const auto rows = of.log.take();
  of.streams(rows);
  const auto first = next(of);
  complete(of, first);
  EXPECT_EQ(of.it->take_stream_credit(), credit{}) << "the block's last row has not left yet";

  complete(of, next(of));

  EXPECT_EQ(of.it->take_stream_credit(), (credit{1, rows->bytes()}));
  EXPECT_EQ(of.it->take_stream_credit(), credit{});
}

TEST(batching, gives_credit_of_a_block_without_changes_back_at_once) {
  history of{loaded(2)};

  of.streams(of.log.advance(2000).take());

  EXPECT_EQ(of.it->take_stream_credit().blocks, 1U);
}

TEST(batching, an_advance_is_acknowledged_without_a_write) {
  history of{loaded(2)};

  of.streams(of.log.advance(2000).take());

  EXPECT_EQ(next(of), nullptr);
  EXPECT_EQ(of.it->passed(), position{2000});
  EXPECT_EQ(of.it->acknowledged().resume, position{2000});
  EXPECT_EQ(of.it->acknowledged().version, position{1000});
}

TEST(batching, an_advance_is_not_acknowledged_before_what_lies_before_it) {
  history of{loaded(1000)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 1); });
  of.streams(of.log.advance(2000).take());

  const auto one = next(of);
  EXPECT_LT(of.it->acknowledged().resume, position{1011});
  complete(of, one);

  EXPECT_EQ(of.it->acknowledged().resume, position{2000});
}

TEST(batching, a_durable_batch_carries_the_position_even_without_a_change) {
  history of{loaded(1000)};
  of.streams(of.log.advance(2000).take());
  of.it->ask_durable();

  const auto durable = next(of);

  ASSERT_TRUE(durable);
  EXPECT_TRUE(durable->is_durable);
  EXPECT_TRUE(durable->changes.empty());
  EXPECT_EQ(durable->reaches->resume, position{2000});
  complete(of, durable);
  EXPECT_EQ(of.it->durable(), position{2000});
  of.it->ask_durable();
  EXPECT_EQ(next(of), nullptr) << "nothing was acknowledged since";
}

TEST(batching, a_durable_batch_waits_for_the_end_of_a_transaction) {
  history of{loaded(2)};
  of.log.begin(701, 1010);
  insert_rows(of.log, 1, 3);
  of.streams(of.log.take());
  of.it->ask_durable();

  const auto piece = next(of);
  EXPECT_FALSE(piece->is_durable);
  of.streams(of.log.commit().begin(702, 1020).take());

  auto last = next(of);
  while (!last->is_durable)
    last = (complete(of, piece), next(of));
  EXPECT_EQ(last->reaches, (checkpoint{{1011}, {1010}}));
}

TEST(batching, makes_durable_what_was_written_before) {
  history of{loaded(1000)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 1); });
  complete(of, next(of));
  EXPECT_EQ(of.it->durable(), position{});
  of.it->ask_durable();

  const auto durable = next(of);

  ASSERT_TRUE(durable);
  EXPECT_EQ(durable->reaches, (checkpoint{{1011}, {1010}}));
  complete(of, durable);
  EXPECT_EQ(of.it->durable(), position{1011});
}

TEST(batching, refuses_a_batch_that_is_completed_out_of_turn) {
  history of{loaded(1)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 1); });
  of.transaction(702, [](script& t) { insert_rows(t, 2, 1); });
  const auto first = next(of);
  const auto second = next(of);

  const auto done = of.it->completed({.batch = second->number});

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::invariant_broken);
  EXPECT_FALSE(of.it->next_batch(true)) << "errors are final";
}

TEST(batching, refuses_a_durable_position_beyond_what_was_acknowledged) {
  history of{loaded(1)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 1); });
  const auto first = next(of);

  const auto done = of.it->completed({.batch = first->number, .durable = position{5000}});

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::invariant_broken);
}

TEST(batching, numbers_changes_and_batches_in_their_order) {
  history of{loaded(3)};
  of.transaction(701, [](script& t) { insert_rows(t, 1, 8); });
  std::uint64_t last = 0;
  std::uint64_t version = 0;

  for (std::uint64_t number = 1; const auto each = next(of); ++number) {
    EXPECT_EQ(each->number, number);
    for (const auto& change : each->changes) {
      EXPECT_EQ(change.number, ++last);
      EXPECT_GT(change.version, version);
      EXPECT_EQ(change.version % 2, 1U);
      version = change.version;
    }
    complete(of, each);
  }
  EXPECT_EQ(last, 8U);
}

TEST(batching, the_first_start_writes_its_position_before_anything_else) {
  history of{options{.bounds = {}}};

  const auto first = next(of, false);

  ASSERT_TRUE(first);
  EXPECT_TRUE(first->changes.empty());
  EXPECT_EQ(first->reaches, (checkpoint{{1001}, {1000}}));
  EXPECT_FALSE(first->records.empty());
}

} // namespace
} // namespace cdc::engine::test
