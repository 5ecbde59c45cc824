#include "sinks/null/null_sink.hpp"
#include "tests/contract/sink_contract.hpp"

namespace cdc::contract {

namespace {

TEST(null_count, counts_what_it_takes_by_kind) {
  sinks::null::null_sink sink("counting");
  ASSERT_TRUE(sink.open(orders_stream()));
  const auto items = items_table();
  const auto notes = notes_table();
  batches next;
  ASSERT_TRUE(write(sink, next.upsert(items, {"1", "a", "b"})
                              .upsert(items, {"2", "a", "b"})
                              .remove(items, {"1", nullptr, nullptr})
                              .insert(notes, {"a", "b"})
                              .truncate(notes)
                              .commit()));
  EXPECT_EQ(sink.count(action::upsert), 2U);
  EXPECT_EQ(sink.count(action::remove), 1U);
  EXPECT_EQ(sink.count(action::insert), 1U);
  EXPECT_EQ(sink.count(action::truncate), 1U);
  EXPECT_EQ(sink.count(action::partial), 0U);
}

TEST(null_count, is_fenced_by_a_newer_life) {
  sinks::null::null_sink older("fenced");
  sinks::null::null_sink newer("fenced");
  ASSERT_TRUE(older.open(orders_stream()));
  ASSERT_TRUE(newer.open(orders_stream()));
  batches next;
  const auto report = write(older, next.upsert(items_table(), {"1", "a", "b"}).commit());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::fenced);
}

} // namespace

} // namespace cdc::contract
