#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "messages/block.hpp"

namespace cdc {
namespace {

relation_ptr shape_of(std::size_t columns, std::string name = "t") {
  relation made;
  made.table = {"public", std::move(name)};
  for (std::size_t i = 0; i < columns; ++i)
    made.columns.push_back({.name = "c" + std::to_string(i)});
  made.key = {0};
  return std::make_shared<const relation>(made);
}

struct block_builder_test : testing::Test {
  block_pool pool;
  block_builder builder{pool};
  relation_ptr shape = shape_of(2);
};

TEST_F(block_builder_test, lays_one_image_of_an_insert_behind_the_other) {
  for (const auto* text : {"a", "b"}) {
    builder.row(operation::insert, shape);
    builder.value(text);
    builder.null();
  }

  const auto made = builder.take();
  ASSERT_EQ(made->events.size(), 2u);
  const auto second = made->image(made->events[1].first, *shape);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(made->text(second[0]), "b");
  EXPECT_TRUE(second[1].is_null());
  EXPECT_FALSE(made->events[1].is_partial);
}

TEST_F(block_builder_test, puts_the_old_image_of_an_update_before_the_new_one) {
  builder.row(operation::update, shape, before_image::full);
  for (const auto* text : {"old", "1", "new", "2"})
    builder.value(text);

  const auto made = builder.take();
  const auto first = made->events[0].first;
  EXPECT_EQ(made->text(made->image(first, *shape)[0]), "old");
  EXPECT_EQ(made->text(made->image(first + 2, *shape)[0]), "new");
}

TEST_F(block_builder_test, calls_a_row_partial_only_for_what_its_new_image_lacks) {
  builder.row(operation::update, shape, before_image::full); // absent in the old image
  builder.value("1");
  builder.absent();
  builder.value("1");
  builder.value("2");
  builder.row(operation::update, shape, before_image::full); // absent in the new image
  builder.value("1");
  builder.value("2");
  builder.value("1");
  builder.absent();
  builder.row(operation::update, shape); // there is only the new image
  builder.absent();
  builder.value("2");
  builder.row(operation::remove, shape, before_image::key); // there is only the old image
  builder.value("1");
  builder.absent();

  const auto made = builder.take();
  ASSERT_EQ(made->events.size(), 4u);
  EXPECT_FALSE(made->events[0].is_partial);
  EXPECT_TRUE(made->events[1].is_partial);
  EXPECT_TRUE(made->events[2].is_partial);
  EXPECT_FALSE(made->events[3].is_partial);
}

TEST_F(block_builder_test, tells_empty_null_and_absent_apart) {
  const auto three = shape_of(3);
  builder.row(operation::insert, three);
  builder.value("");
  builder.null();
  builder.absent();

  const auto made = builder.take();
  const auto image = made->image(0, *three);
  EXPECT_TRUE(image[0].has_value());
  EXPECT_EQ(made->text(image[0]), "");
  EXPECT_TRUE(image[1].is_null());
  EXPECT_FALSE(image[1].has_value());
  EXPECT_TRUE(image[2].is_absent());
  EXPECT_FALSE(image[2].has_value());
}

TEST_F(block_builder_test, rolls_a_half_row_back_and_goes_on) {
  builder.row(operation::insert, shape);
  builder.value("kept");
  builder.null();
  builder.row(operation::insert, shape);
  builder.value("half");
  builder.roll_back();
  builder.begin({.final = {7}});
  builder.roll_back();
  builder.truncate(shape);
  builder.roll_back();
  builder.row(operation::insert, shape);
  builder.value("next");
  builder.null();

  const auto made = builder.take();
  ASSERT_EQ(made->events.size(), 2u);
  EXPECT_EQ(made->cells.size(), 4u);
  EXPECT_TRUE(made->transactions.empty());
  EXPECT_EQ(made->text(made->image(made->events[0].first, *shape)[0]), "kept");
  EXPECT_EQ(made->text(made->image(made->events[1].first, *shape)[0]), "next");
}

TEST_F(block_builder_test, lends_space_and_takes_back_what_was_not_needed) {
  builder.row(operation::insert, shape);
  auto* space = builder.value_space(100);
  std::memcpy(space, "abc", 3);
  builder.shrink_value(3);
  builder.value("next");

  const auto made = builder.take();
  const auto image = made->image(0, *shape);
  EXPECT_EQ(made->text(image[0]), "abc");
  EXPECT_EQ(made->text(image[1]), "next");
  EXPECT_EQ(made->arena_used, 7u);
}

TEST_F(block_builder_test, keeps_earlier_values_when_its_arena_moves) {
  builder.row(operation::insert, shape);
  builder.value("first");
  builder.value(std::string(1 << 20, 'x'));

  const auto made = builder.take();
  EXPECT_EQ(made->text(made->image(0, *shape)[0]), "first");
}

TEST_F(block_builder_test, names_each_relation_once_a_block) {
  const auto other = shape_of(1, "other");
  for (int i = 0; i < 3; ++i) {
    builder.truncate(shape);
    builder.truncate(other);
  }
  const auto first = builder.take();
  builder.truncate(other);
  const auto second = builder.take();

  ASSERT_EQ(first->relations.size(), 2u);
  EXPECT_EQ(first->relations[first->events[5].relation], other);
  ASSERT_EQ(second->relations.size(), 1u);
  EXPECT_EQ(second->relations[second->events[0].relation], other);
}

TEST_F(block_builder_test, says_what_is_known_of_a_transaction_at_its_begin_and_at_its_end) {
  builder.begin({.final = {10}, .id = 5});
  builder.commit({.final = {10}, .end = {12}, .id = 5});
  builder.advance({20});

  const auto made = builder.take();
  ASSERT_EQ(made->events.size(), 3u);
  EXPECT_EQ(made->transactions[made->events[0].first].final, position{10});
  EXPECT_EQ(made->transactions[made->events[1].first].end, position{12});
  EXPECT_EQ(made->transactions[made->events[2].first].end, position{20});
}

TEST_F(block_builder_test, is_full_at_either_bound) {
  block_builder by_events{pool, {.events = 2, .bytes = 1 << 20}};
  by_events.truncate(shape);
  EXPECT_FALSE(by_events.full());
  by_events.truncate(shape);
  EXPECT_TRUE(by_events.full());
  block_builder by_bytes{pool, {.events = 1000, .bytes = 1000}};
  by_bytes.row(operation::insert, shape);
  by_bytes.value(std::string(500, 'x'));
  EXPECT_FALSE(by_bytes.full());
  by_bytes.value(std::string(500, 'x'));
  EXPECT_TRUE(by_bytes.full());
}

TEST_F(block_builder_test, goes_on_with_an_empty_block) {
  builder.truncate(shape);
  const auto taken = builder.take();

  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(taken->events.size(), 1u);
  builder.truncate(shape);
  EXPECT_EQ(taken->events.size(), 1u);
}

} // namespace
} // namespace cdc
