#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sinks/search/work_plan.hpp"
#include "tests/contract/sink_contract_batches.hpp"

namespace cdc::sinks::search {

namespace {

using contract::absent;
using contract::batches;

/// What is there at the target, and the plan of one batch onto it.
class plan_of {
public:
  explicit plan_of(batch_ptr work) : work_(std::move(work)) {
    std::vector<document_writer*> writers;
    std::vector<std::uint16_t> at;
    for (const auto& table : work_->tables) {
      writers_.push_back(std::make_unique<document_writer>(table));
      writers.push_back(writers_.back().get());
      at.push_back(to_.of(*table));
    }
    plan_ = std::make_unique<work_plan>(*work_, 0, work_->changes.size(), writers, at);
  }

  /// The ids that it asks for.
  [[nodiscard]] std::vector<std::string> wants() const {
    std::vector<std::string> out;
    for (const auto key : plan_->wants())
      out.emplace_back(plan_->keys().id(key));
    return out;
  }
  plan_of& found(std::vector<found_document> documents) {
    plan_->found(std::move(documents));
    return *this;
  }
  /// The request, a line each.
  std::vector<std::string> lines() {
    plan_->resolve(answers);
    json_writer out;
    std::vector<bulk_item> items;
    plan_->write(to_, out, items);
    std::vector<std::string> made;
    for (std::string_view rest = out.text(); !rest.empty();) {
      made.emplace_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(made.back().size() + 1);
    }
    return made;
  }

  std::vector<answer> answers;

private:
  batch_ptr work_;
  places to_;
  std::vector<std::unique_ptr<document_writer>> writers_;
  std::unique_ptr<work_plan> plan_;
};

std::string head(const char* action, int version, const char* id) {
  return std::string{"{\""} + action +
         R"(":{"_index":"items","version_type":"external_gte","version":)" +
         std::to_string(version) + ",\"_id\":\"" + id + "\"}}";
}

using text = std::vector<std::string>;

const auto items = contract::items_table();

} // namespace

TEST(work_plan, writes_each_document_once_as_its_last_change_left_it) {
  batches next;
  plan_of plan(next.upsert(items, {"1", "a", "b"})
                   .upsert(items, {"2", "a", "b"})
                   .upsert(items, {"1", "c", "d"})
                   .remove(items, {"2", nullptr, nullptr})
                   .commit());
  EXPECT_TRUE(plan.wants().empty());
  EXPECT_EQ(plan.lines(),
            (text{head("index", 7, "1"), R"({"id":1,"a":"c","b":"d"})", head("delete", 9, "2")}));
}

TEST(work_plan, completes_a_partial_change_from_the_batch_itself) {
  batches next;
  plan_of plan(next.upsert(items, {"1", "a", "b"}).partial(items, {"1", absent, "c"}).commit());
  EXPECT_TRUE(plan.wants().empty());
  EXPECT_EQ(plan.lines(), (text{head("index", 5, "1"), R"({"id":1,"a":"a","b":"c"})"}));
  EXPECT_TRUE(plan.answers.at(0).found);
}

TEST(work_plan, completes_a_partial_change_from_an_older_document) {
  batches next;
  plan_of plan(next.partial(items, {"1", absent, "c"}).commit());
  EXPECT_EQ(plan.wants(), (text{"1"}));
  plan.found({{true, 2, R"({"id":1,"a":"a","b":"b"})"}});
  EXPECT_EQ(plan.lines(), (text{head("index", 3, "1"), R"({"a":"a","id":1,"b":"c"})"}));
  EXPECT_TRUE(plan.answers.at(0).found);
}

TEST(work_plan, leaves_a_document_that_has_the_change_or_a_newer_one) {
  for (const std::uint64_t version : {3U, 4U, 900U}) {
    batches next;
    plan_of plan(next.partial(items, {"1", absent, "c"}).commit());
    plan.found({{true, version, R"({"id":1,"a":"a","b":"b"})"}});
    EXPECT_TRUE(plan.lines().empty()) << version;
    EXPECT_TRUE(plan.answers.at(0).found);
  }
}

TEST(work_plan, leaves_a_tombstone_below_a_change_that_found_no_document) {
  batches next;
  plan_of plan(next.partial(items, {"1", absent, "c"}).commit());
  plan.found({{false, 0, ""}});
  EXPECT_EQ(plan.lines(), (text{head("delete", 2, "1")}));
  EXPECT_FALSE(plan.answers.at(0).found);
}

TEST(work_plan, writes_once_more_at_the_last_piece_that_a_version_can_count) {
  batches next;
  auto work = std::make_shared<batch>(*next.partial(items, {"1", absent, "c"}).commit());
  work->changes[0].version = (7U * 2048 + 2047) * 2 + 1;
  plan_of plan(work);
  plan.found({{true, work->changes[0].version, R"({"id":1,"a":"a","b":"b"})"}});
  EXPECT_EQ(plan.lines().size(), 2U) << "an equal version may be an earlier change's";
}

TEST(work_plan, moves_a_document_with_what_it_has) {
  batches next;
  plan_of plan(next.move(items, {"1", nullptr, nullptr}, {"9", absent, "c"}).commit());
  EXPECT_EQ(plan.wants(), (text{"1", "9"}));
  plan.found({{true, 2, R"({"id":1,"a":"a","b":"b"})"}, {false, 0, ""}});
  EXPECT_EQ(plan.lines(),
            (text{head("delete", 3, "1"), head("index", 3, "9"), R"({"a":"a","id":9,"b":"c"})"}));
  EXPECT_TRUE(plan.answers.at(0).found);
}

TEST(work_plan, takes_no_base_that_is_not_older_than_the_move) {
  for (const bool has_target : {false, true}) {
    batches next;
    plan_of plan(next.move(items, {"1", nullptr, nullptr}, {"9", absent, "c"}).commit());
    plan.found({{true, 3, R"({"id":1})"}, {has_target, has_target ? 3U : 0U, "{}"}});
    // A conflict at the old key: it is newer there. At the new one a tombstone, or nothing to do.
    auto expected = has_target ? text{} : text{head("delete", 2, "9")};
    expected.insert(expected.begin(), head("delete", 3, "1"));
    EXPECT_EQ(plan.lines(), expected);
    EXPECT_EQ(plan.answers.at(0).found, has_target);
  }
}

TEST(work_plan, follows_a_chain_of_moves_through_the_batch) {
  batches next;
  plan_of plan(next.upsert(items, {"1", "one", "x"})
                   .move(items, {"1", nullptr, nullptr}, {"2", absent, absent})
                   .upsert(items, {"1", "new", "x"})
                   .move(items, {"2", nullptr, nullptr}, {"3", absent, "y"})
                   .commit());
  EXPECT_EQ(plan.lines(),
            (text{head("index", 7, "1"), R"({"id":1,"a":"new","b":"x"})", head("delete", 9, "2"),
                  head("index", 9, "3"), R"({"id":3,"a":"one","b":"y"})"}));
  EXPECT_EQ(std::ranges::count(plan.answers, true, &answer::found), 2);
}

TEST(work_plan, treats_a_move_without_a_base_as_one_that_finds_none) {
  batches next;
  plan_of plan(next.appear(items, {"4", "a", absent}).commit());
  EXPECT_EQ(plan.wants(), (text{"4"}));
  plan.found({{false, 0, ""}});
  EXPECT_EQ(plan.lines(), (text{head("delete", 2, "4")}));
  EXPECT_FALSE(plan.answers.at(0).found);
}

TEST(work_plan, does_not_undo_a_newer_document_that_it_has_seen) {
  batches next;
  plan_of plan(
      next.partial(items, {"1", absent, "c"}).upsert(items, {"1", "late", "late"}).commit());
  plan.found({{true, 900, R"({"id":1,"a":"a","b":"b"})"}});
  EXPECT_TRUE(plan.lines().empty());
}

TEST(work_plan, escapes_ids_and_names_the_pipeline) {
  auto table =
      std::make_shared<target_table>(*contract::make_table("items", {{"id", kind::text, true}}));
  table->pipeline = "enrich";
  batches next;
  plan_of plan(next.upsert(table, {"a\"b\n"}).remove(table, {"c"}).commit());
  EXPECT_EQ(plan.lines(),
            (text{R"({"index":{"pipeline":"enrich","_index":"items","version_type":"external_gte",)"
                  R"("version":3,"_id":"a\"b\n"}})",
                  R"({"id":"a\"b\n"})", head("delete", 5, "c")}));
}

// -- key sets -------------------------------------------------------------------------------------

TEST(key_set, numbers_each_document_once_and_grows) {
  key_set keys(2);
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t i = 0; i < 1000; ++i)
      EXPECT_EQ(keys.add(static_cast<std::uint16_t>(i % 2), std::to_string(i / 2)), i);
  EXPECT_EQ(keys.size(), 1000U);
  EXPECT_EQ(keys.id(999), "499");
  EXPECT_EQ(keys.place(999), 1);
}

TEST(key_set, meets_another_where_a_document_is_in_both) {
  key_set one(4);
  key_set other(4);
  one.add(0, "a");
  one.add(1, "b");
  EXPECT_FALSE(one.meets(other));
  other.add(1, "a");
  EXPECT_FALSE(one.meets(other)) << "the same id in another index";
  other.add(1, "b");
  EXPECT_TRUE(one.meets(other));
  EXPECT_TRUE(other.meets(one));
}

} // namespace cdc::sinks::search
