#include "tests/contract/sink_contract.hpp"

#include <atomic>
#include <thread>

#include "tests/contract/sink_contract_ndjson.hpp"
#include "tests/contract/sink_contract_search.hpp"
#include "tests/contract/sink_contract_sqlite.hpp"

namespace cdc::contract {

namespace {

// -- rows
// -------------------------------------------------------------------------------------------

TEST_P(row_contract, writes_operations_in_order) {
  write(next.upsert(items, {"1", "x", "y"})
            .upsert(items, {"1", "x2", "y2"})
            .upsert(items, {"2", "p", "q"})
            .remove(items, {"2", nullptr, nullptr})
            .upsert(items, {"3", "r", "s"})
            .commit());
  write(next.remove(items, {"3", nullptr, nullptr}).upsert(items, {"3", "again", "s"}).commit());
  EXPECT_EQ(rows(items), (shown_rows{{"1", "x2", "y2"}, {"3", "again", "s"}}));
}

TEST_P(row_contract, ends_the_same_when_a_batch_is_written_twice) {
  for (int i = 0; i < 2; ++i)
    write(next.upsert(items, {"1", "x", "y"})
              .remove(items, {"2", nullptr, nullptr})
              .upsert(items, {"4", "z", nullptr})
              .commit());
  EXPECT_EQ(rows(items), (shown_rows{{"1", "x", "y"}, {"4", "z", std::nullopt}}));
}

TEST_P(row_contract, tells_null_from_absent_from_empty) {
  write(next.upsert(items, {"1", "", nullptr}).upsert(items, {"2", "old", "old"}).commit());
  write(next.partial(items, {"2", absent, nullptr}).commit());
  write(next.partial(items, {"1", absent, ""}).commit());
  EXPECT_EQ(rows(items), (shown_rows{{"1", "", ""}, {"2", "old", std::nullopt}}));
}

TEST_P(row_contract, leaves_absent_columns_as_they_are) {
  write(next.upsert(items, {"1", "a1", "b1"}).upsert(items, {"2", "a2", "b2"}).commit());
  write(next.partial(items, {"1", "A1", absent})
            .partial(items, {"2", absent, "B2"})
            .partial(items, {"1", absent, absent})
            .commit());
  EXPECT_EQ(rows(items), (shown_rows{{"1", "A1", "b1"}, {"2", "a2", "B2"}}));
}

TEST_P(row_contract, moves_a_row_and_keeps_what_the_move_left_out) {
  write(next.upsert(items, {"1", "a1", "b1"}).commit());
  write(next.move(items, {"1", nullptr, nullptr}, {"9", "A1", absent}).commit());
  EXPECT_EQ(rows(items), (shown_rows{{"9", "A1", "b1"}}));
}

TEST_P(row_contract, swaps_keys_by_way_of_a_third_in_one_batch) {
  write(next.upsert(items, {"1", "one", "b1"}).upsert(items, {"2", "two", "b2"}).commit());
  write(next.move(items, {"1", nullptr, nullptr}, {"-1", absent, absent})
            .move(items, {"2", nullptr, nullptr}, {"1", absent, absent})
            .move(items, {"-1", nullptr, nullptr}, {"2", absent, absent})
            .commit());
  EXPECT_EQ(rows(items), (shown_rows{{"1", "two", "b2"}, {"2", "one", "b1"}}));
}

TEST_P(row_contract, moves_a_chain_of_keys_in_one_batch) {
  write(next.upsert(items, {"1", "one", "x"}).upsert(items, {"2", "two", "x"}).commit());
  write(next.move(items, {"2", nullptr, nullptr}, {"3", absent, absent})
            .move(items, {"1", nullptr, nullptr}, {"2", absent, absent})
            .upsert(items, {"1", "new", "x"})
            .move(items, {"3", nullptr, nullptr}, {"4", absent, "moved twice"})
            .commit());
  EXPECT_EQ(rows(items),
            (shown_rows{{"1", "new", "x"}, {"2", "one", "x"}, {"4", "two", "moved twice"}}));
}

TEST_P(row_contract, keeps_a_row_whose_move_goes_to_its_own_key) {
  write(next.upsert(items, {"1", "one", "kept"}).commit());
  const auto report =
      write(next.move(items, {"1", nullptr, nullptr}, {"1", "two", absent}).commit());
  EXPECT_EQ(rows(items), (shown_rows{{"1", "two", "kept"}}));
  ASSERT_EQ(report.answers.size(), 1U);
  EXPECT_TRUE(report.answers[0].found);
}

TEST_P(row_contract, empties_a_table_between_what_came_before_and_after) {
  write(next.upsert(items, {"1", "x", "y"}).upsert(items, {"2", "x", "y"}).commit());
  write(
      next.upsert(items, {"3", "x", "y"}).truncate(items).upsert(items, {"4", "p", "q"}).commit());
  EXPECT_EQ(rows(items), (shown_rows{{"4", "p", "q"}}));
}

TEST_P(row_contract, keeps_as_many_equal_rows_as_there_are) {
  if (!GetParam().is_keyless)
    GTEST_SKIP() << "its rows have keys";
  write(next.insert(notes, {"a", nullptr})
            .insert(notes, {"a", nullptr})
            .insert(notes, {"a", nullptr})
            .insert(notes, {"a", ""})
            .commit());
  EXPECT_EQ(rows(notes).size(), 4U);
  write(next.erase(notes, {"a", nullptr}).commit());
  EXPECT_EQ(rows(notes), (shown_rows{{"a", std::nullopt}, {"a", std::nullopt}, {"a", ""}}));
}

TEST_P(answer_contract, counts_erases_that_find_no_row) {
  if (!GetParam().is_keyless)
    GTEST_SKIP() << "its rows have keys";
  write(next.insert(notes, {"a", "b"}).commit());
  const auto report = write(
      next.erase(notes, {"a", nullptr}).erase(notes, {"a", "b"}).erase(notes, {"a", "b"}).commit());
  EXPECT_EQ(report.not_found, 2U);
}

// -- answers and the refetch list
// -------------------------------------------------------------------

TEST_P(sink_contract, answers_every_question_in_order) {
  write(next.upsert(items, {"1", "a", "b"}).commit());
  const auto first = next.last_change() + 1;
  const auto report = write(next.partial(items, {"1", "A", absent})
                                .upsert(items, {"5", "a", "b"})
                                .partial(items, {"2", "A", absent})
                                .move(items, {"1", nullptr, nullptr}, {"3", absent, absent})
                                .move(items, {"7", nullptr, nullptr}, {"8", absent, absent})
                                .commit());
  ASSERT_EQ(report.answers.size(), 4U);
  EXPECT_EQ(report.answers[0].number, first);
  EXPECT_EQ(report.answers[1].number, first + 2);
  EXPECT_EQ(report.answers[2].number, first + 3);
  EXPECT_EQ(report.answers[3].number, first + 4);
  EXPECT_TRUE(report.answers[0].found);
  EXPECT_TRUE(report.answers[2].found);
  if (GetParam().answers) {
    EXPECT_FALSE(report.answers[1].found);
    EXPECT_FALSE(report.answers[3].found);
  }
}

TEST_P(answer_contract, writes_no_half_row_where_there_was_none) {
  write(next.partial(items, {"2", "A", absent})
            .move(items, {"7", nullptr, nullptr}, {"8", "A", absent})
            .appear(items, {"9", "A", absent})
            .commit());
  EXPECT_EQ(rows(items), shown_rows{});
}

TEST_P(answer_contract, removes_what_stands_where_a_row_moves_to) {
  write(next.upsert(items, {"8", "stale", "x"}).upsert(items, {"9", "stale", "x"}).commit());
  write(next.move(items, {"7", nullptr, nullptr}, {"8", "A", absent})
            .appear(items, {"9", "A", absent})
            .commit());
  EXPECT_EQ(rows(items), shown_rows{});
}

std::vector<listed_key> listed(const target_table_ptr& table,
                               std::initializer_list<const char*> keys) {
  std::vector<listed_key> out;
  for (const auto* key : keys)
    out.push_back({table->name, encode_key(std::vector<std::string>{key})});
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<listed_key> sorted(std::vector<listed_key> keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

TEST_P(answer_contract, lists_durably_the_rows_it_lacks_when_told_to_keep_them) {
  write(next.partial(items, {"1", "A", absent}, true)
            .partial(items, {"2", "A", absent}, false)
            .move(items, {"6", nullptr, nullptr}, {"3", "A", absent}, true)
            .appear(items, {"4", "A", absent}, true)
            .commit());
  EXPECT_EQ(sorted(start().refetch), listed(items, {"1", "3", "4"}));
}

TEST_P(file_contract, keeps_listed_keys_until_their_rows_are_settled) {
  write(next.list(items, {"1"}).list(items, {"2"}).list(items, {"3"}).list(items, {"4"}).take());
  write(next.list(items, {"5"}).list(items, {"5"}).take());
  EXPECT_EQ(sorted(start().refetch), listed(items, {"1", "2", "3", "4", "5"}));
  write(next.upsert(items, {"1", "whole", "x"})
            .remove(items, {"2", nullptr, nullptr})
            .forget(items, {"3", nullptr, nullptr})
            .commit());
  EXPECT_EQ(sorted(start().refetch), listed(items, {"4", "5"}));
}

TEST_P(file_contract, takes_the_old_key_of_a_move_off_the_list) {
  write(next.list(items, {"1"}).list(items, {"2"}).upsert(items, {"7", "a", "b"}).commit());
  write(next.move(items, {"1", nullptr, nullptr}, {"3", "A", absent})
            .move(items, {"7", nullptr, nullptr}, {"2", "A", absent})
            .commit());
  EXPECT_EQ(sorted(start().refetch), listed(items, {}));
}

TEST_P(file_contract, empties_the_list_of_a_truncated_table_alone) {
  write(next.list(items, {"1"}).list(notes, {"2"}).take());
  write(next.truncate(items).commit());
  EXPECT_EQ(start().refetch, listed(notes, {"2"}));
}

// -- the checkpoint
// ---------------------------------------------------------------------------------

TEST_P(sink_contract, begins_without_a_checkpoint) {
  const auto state = start();
  EXPECT_FALSE(state.resume);
  EXPECT_TRUE(state.records.empty());
  EXPECT_TRUE(state.refetch.empty());
}

TEST_P(sink_contract, resumes_from_what_it_acknowledged) {
  write(next.upsert(items, {"1", "x", "y"})
            .record("load", "half")
            .record("gone", "x")
            .commit_at(100));
  write(next.upsert(items, {"2", "x", "y"}).record("gone", std::nullopt).commit_at(200));
  const auto state = start();
  EXPECT_EQ(state.resume, (checkpoint{{200}, {199}}));
  using pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(state.records, (pairs{{"load", "half"}}));
}

TEST_P(sink_contract, raises_its_epoch_with_every_life) {
  const auto one = start().epoch;
  const auto two = start().epoch;
  EXPECT_GT(two, one);
}

TEST_P(sink_contract, refuses_another_streams_checkpoint) {
  write(next.upsert(items, {"1", "x", "y"}).commit());
  sink_.reset();
  sink_ = target_->make();
  auto other = orders_stream(GetParam().suffix);
  other.server = "7300000000000000002";
  const auto state = sink_->open(other);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, errc::foreign_stream);
}

TEST_P(file_contract, moves_rows_and_checkpoint_together_or_not_at_all) {
  write(next.upsert(items, {"1", "x", "y"}).commit_at(100));
  write(next.upsert(items, {"2", "x", "y"}).piece());
  write(next.upsert(items, {"3", "x", "y"}).record("r", "1").list(items, {"5"}).piece());
  const auto state = start();
  EXPECT_EQ(state.resume, (checkpoint{{100}, {99}}));
  EXPECT_TRUE(state.records.empty());
  EXPECT_TRUE(state.refetch.empty());
  EXPECT_EQ(rows(items), (shown_rows{{"1", "x", "y"}}));
}

TEST_P(row_contract, holds_a_large_transaction_open_over_its_pieces) {
  write(next.upsert(items, {"1", "x", "y"}).piece());
  write(next.upsert(items, {"2", "x", "y"}).piece());
  if (GetParam().isolates) {
    EXPECT_EQ(rows(items), shown_rows{});
  }
  write(next.upsert(items, {"3", "x", "y"}).commit_at(50));
  EXPECT_EQ(rows(items).size(), 3U);
  EXPECT_EQ(start().resume, (checkpoint{{50}, {49}}));
}

TEST_P(sink_contract, says_how_far_a_power_loss_would_reach_back) {
  EXPECT_FALSE(write(next.upsert(items, {"1", "x", "y"}).commit_at(100)).durable);
  EXPECT_EQ(write(next.upsert(items, {"1", "x", "z"}).durable().commit_at(200)).durable,
            position{200});
  EXPECT_FALSE(write(next.upsert(items, {"1", "x", "y"}).commit_at(300)).durable);
  // Nothing new is written, yet what was written before becomes durable.
  EXPECT_EQ(write(next.durable().take()).durable, position{300});
}

TEST_P(sink_contract, makes_a_large_transaction_durable_when_its_last_piece_asks) {
  EXPECT_FALSE(write(next.upsert(items, {"1", "x", "y"}).durable().piece()).durable);
  EXPECT_EQ(write(next.upsert(items, {"2", "x", "y"}).durable().commit_at(70)).durable,
            position{70});
}

TEST_P(file_contract, is_fenced_once_a_newer_life_has_begun) {
  write(next.upsert(items, {"1", "x", "y"}).commit_at(100));
  target_->break_lock();
  const auto newer = target_->make();
  const auto state = newer->open(orders_stream());
  ASSERT_TRUE(state) << state.error().detail;
  EXPECT_EQ(state->resume, (checkpoint{{100}, {99}}));

  const auto report =
      contract::write(*sink_, next.upsert(items, {"2", "late", "y"}).commit_at(200));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::fenced);
  const auto copied =
      contract::write(*sink_, next.copies().upsert(items, {"3", "late", "y"}).take());
  ASSERT_FALSE(copied);
  EXPECT_EQ(rows(items), (shown_rows{{"1", "x", "y"}}));
}

TEST_P(file_contract, keeps_a_second_process_off_its_file) {
  const auto other = target_->make();
  const auto state = other->open(orders_stream());
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, errc::target_unavailable);
  EXPECT_NE(state.error().detail.find(std::to_string(::getpid())), std::string::npos)
      << state.error().detail;
}

// -- failure and cancellation
// -----------------------------------------------------------------------

TEST_P(file_contract, writes_nothing_of_a_batch_that_does_not_fit_the_disk) {
  write(next.upsert(items, {"1", "x", "y"}).commit_at(100));
  const auto before = rows(items);
  {
    const full_disk full;
    for (int i = 10; i < 2000; ++i)
      next.upsert(items, {std::to_string(i), std::string(2000, 'x'), "y"});
    const auto report = contract::write(*sink_, next.commit_at(200));
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, errc::target_unavailable) << report.error().detail;
    const auto later = contract::write(*sink_, next.upsert(items, {"2", "x", "y"}).commit_at(300));
    EXPECT_FALSE(later) << "a batch behind one that failed was taken";
  }
  EXPECT_EQ(start().resume, (checkpoint{{100}, {99}}));
  EXPECT_EQ(rows(items), before);
  write(next.upsert(items, {"2", "x", "y"}).commit_at(200));
  EXPECT_EQ(rows(items).size(), 2U);
}

TEST_P(sink_contract, ends_what_is_outstanding_when_cancelled) {
  std::atomic<int> completed{0};
  std::vector<std::promise<result<write_report>>> done(sink_->window());
  std::vector<int> order;
  for (std::size_t i = 0; i < done.size(); ++i)
    sink_->submit(next.upsert(items, {std::to_string(i), "x", "y"}).commit(),
                  [&, i](result<write_report> report) {
                    order.push_back(static_cast<int>(i));
                    ++completed;
                    done[i].set_value(std::move(report));
                  });
  sink_->cancel();
  for (auto& it : done) {
    const auto report = it.get_future().get();
    EXPECT_TRUE(report || report.error().code == errc::cancelled);
  }
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  const auto later = contract::write(*sink_, next.upsert(items, {"9", "x", "y"}).commit());
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, errc::cancelled);
}

TEST_P(sink_contract, completes_what_is_outstanding_when_it_is_destroyed) {
  std::atomic<int> completed{0};
  for (std::size_t i = 0; i < sink_->window(); ++i)
    sink_->submit(next.upsert(items, {std::to_string(i), "x", "y"}).commit(),
                  [&](const result<write_report>&) { ++completed; });
  const auto expected = static_cast<int>(sink_->window());
  sink_.reset();
  EXPECT_EQ(completed, expected);
}

TEST_P(sink_contract, takes_a_batch_with_nothing_but_a_checkpoint) {
  write(next.commit_at(100));
  EXPECT_EQ(start().resume, (checkpoint{{100}, {99}}));
}

template <class Target>
contract_traits sink_of(const char* name) {
  return {.name = name, .make = [](const std::filesystem::path& folder) {
            return std::make_unique<Target>(folder);
          }};
}

const auto sqlite = sink_of<sqlite_under_test>("sqlite");
const auto ndjson = [] {
  auto out = sink_of<ndjson_under_test>("ndjson");
  out.answers = false;
  out.isolates = false;
  return out;
}();
const auto null = [] {
  auto out = sink_of<null_under_test>("null");
  out.answers = false;
  return out;
}();

const auto search = search_traits();

const auto name_of = [](const auto& it) { return it.param.name; };

INSTANTIATE_TEST_SUITE_P(every, sink_contract, ::testing::Values(sqlite, ndjson, null, search),
                         name_of);
INSTANTIATE_TEST_SUITE_P(every, file_contract, ::testing::Values(sqlite, ndjson), name_of);
INSTANTIATE_TEST_SUITE_P(every, row_contract, ::testing::Values(sqlite, ndjson, search), name_of);
INSTANTIATE_TEST_SUITE_P(every, answer_contract, ::testing::Values(sqlite, search), name_of);

} // namespace

} // namespace cdc::contract
