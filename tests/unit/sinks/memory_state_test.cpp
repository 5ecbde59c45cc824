#include "sinks/memory_state.hpp"

#include <gtest/gtest.h>

#include "tests/contract/sink_contract_batches.hpp"

namespace cdc::sinks {

namespace {

using contract::absent;
using contract::batches;

std::set<std::string> keys(const kept_state& state) {
  std::set<std::string> out;
  for (const auto& it : state.listed) {
    const auto parts = decode_key(it.key);
    EXPECT_TRUE(parts);
    out.insert(parts->begin(), parts->end());
  }
  return out;
}

TEST(kept_state, takes_settled_rows_off_the_list_and_puts_listed_ones_on) {
  const auto items = contract::items_table();
  batches next;
  kept_state state;
  for (const char* key : {"1", "2", "3", "4", "5", "6"})
    next.list(items, {key});
  state.apply(*next.take());
  EXPECT_EQ(keys(state).size(), 6U);
  state.apply(*next.upsert(items, {"1", "a", "b"})
                   .remove(items, {"2", nullptr, nullptr})
                   .forget(items, {"3", nullptr, nullptr})
                   .move(items, {"4", nullptr, nullptr}, {"5", absent, absent})
                   .partial(items, {"6", "a", absent})
                   .commit());
  EXPECT_EQ(keys(state), (std::set<std::string>{"6"})) << "a partial change settles nothing";
  state.apply(*next.truncate(items).list(items, {"7"}).commit());
  EXPECT_EQ(keys(state), (std::set<std::string>{"7"}));
}

stream_identity stream_of(const char* server) {
  return {"postgres", server, "slot", "db", "pub"};
}

TEST(memory_state, is_found_again_by_name_and_forgets_open_transactions) {
  batches next;
  memory_state first("kept");
  EXPECT_EQ(first.open(stream_of("1"))->epoch, 1U);
  ASSERT_TRUE(first.write(*next.record("a", "1").commit_at(10)));
  ASSERT_TRUE(first.write(*next.record("a", "2").piece()));
  memory_state second("kept");
  const auto state = second.open(stream_of("1"));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->epoch, 2U);
  EXPECT_EQ(state->resume, (checkpoint{{10}, {9}}));
  ASSERT_EQ(state->records.size(), 1U);
  EXPECT_EQ(state->records[0].second, "1");
  EXPECT_EQ(first.write(*next.commit_at(20)).error().code, errc::fenced);
}

TEST(memory_state, refuses_another_stream) {
  memory_state state("stream");
  ASSERT_TRUE(state.open(stream_of("1")));
  EXPECT_EQ(state.open(stream_of("2")).error().code, errc::foreign_stream);
}

} // namespace

} // namespace cdc::sinks
