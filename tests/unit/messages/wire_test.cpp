#include "messages/wire.hpp"

#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace cdc {
namespace {

relation_ptr users() {
  return std::make_shared<const relation>(relation{.table = {"public", "users"},
                                                   .oid = 16426,
                                                   .generation = 3,
                                                   .identity = replica_identity::index,
                                                   .columns = {{.name = "id",
                                                                .attribute = 1,
                                                                .type_oid = 20,
                                                                .what = kind::integer,
                                                                .is_key = true,
                                                                .is_identity_key = true,
                                                                .is_identity = true,
                                                                .type_name = "int8"},
                                                               {.name = "tags",
                                                                .attribute = 5,
                                                                .type_oid = 1009,
                                                                .type_modifier = 20,
                                                                .what = kind::array,
                                                                .element = kind::text,
                                                                .delimiter = ';',
                                                                .is_unsigned = true,
                                                                .is_generated = true,
                                                                .type_name = "_text"}},
                                                   .key = {0}});
}

relation_ptr nameless() {
  return std::make_shared<const relation>(relation{});
}

block_ptr sample() {
  static block_pool pool;
  block_builder builder{pool};
  const auto shape = users();
  const auto empty = nameless();
  builder.begin({.final = {10}, .id = 0xffff'fffe, .commit_time = -5});
  builder.row(operation::insert, shape);
  builder.value("7");
  builder.null();
  builder.row(operation::update, shape, before_image::full);
  for (const auto* text : {"7", "{}", "8"})
    builder.value(text);
  builder.absent();
  builder.row(operation::remove, shape, before_image::key);
  builder.value("8");
  builder.null();
  builder.truncate(shape);
  builder.row(operation::row, empty);
  builder.commit(
      {.final = {10}, .end = {std::uint64_t{1} << 50}, .id = 0xffff'fffe, .commit_time = -5});
  builder.advance({(std::uint64_t{1} << 50) + 1});
  return builder.take();
}

std::vector<std::byte> encoded(const block& from) {
  std::vector<std::byte> out;
  wire::encode(from, out);
  return out;
}

result<block_ptr> decoded(std::span<const std::byte> message) {
  block_pool pool;
  wire::known_relations shapes;
  return wire::decode_block(message, pool, shapes);
}

void expect_same(const relation& a, const relation& b) {
  EXPECT_EQ(a.table, b.table);
  EXPECT_EQ(a.oid, b.oid);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.identity, b.identity);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.key, b.key);
}

void expect_same(const block& a, const block& b) {
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.cells, b.cells);
  EXPECT_EQ(a.transactions, b.transactions);
  ASSERT_EQ(a.relations.size(), b.relations.size());
  for (std::size_t i = 0; i < a.relations.size(); ++i)
    expect_same(*a.relations[i], *b.relations[i]);
  ASSERT_EQ(a.arena_used, b.arena_used);
  EXPECT_EQ(std::string_view(a.arena.data(), a.arena_used),
            std::string_view(b.arena.data(), b.arena_used));
}

TEST(wire, gives_back_the_block_that_was_encoded) {
  const auto written = sample();
  const auto read = decoded(encoded(*written));

  ASSERT_TRUE(read) << read.error().detail;
  expect_same(**read, *written);
}

TEST(wire, gives_back_an_empty_block) {
  const auto read = decoded(encoded(block{}));

  ASSERT_TRUE(read);
  expect_same(**read, block{});
}

TEST(wire, writes_the_same_bytes_for_the_same_block) {
  std::vector<std::byte> used(1000, std::byte{42});
  wire::encode(*sample(), used);

  EXPECT_EQ(used, encoded(*sample()));
}

TEST(wire, refuses_every_prefix_of_a_valid_message) {
  const auto message = encoded(*sample());
  for (std::size_t size = 0; size < message.size(); ++size) {
    const auto read = decoded(std::span{message}.first(size));
    ASSERT_FALSE(read) << "accepted " << size << " of " << message.size() << " bytes";
    EXPECT_EQ(read.error().code, errc::malformed_message);
  }
}

TEST(wire, refuses_bytes_behind_the_message) {
  auto message = encoded(*sample());
  message.push_back(std::byte{0});

  EXPECT_FALSE(decoded(message));
}

TEST(wire, refuses_another_version_and_flags_it_does_not_know) {
  for (const std::size_t at : {0u, 4u, 5u, 6u, 7u}) {
    auto message = encoded(*sample());
    message[at] ^= std::byte{1};
    EXPECT_FALSE(decoded(message)) << "byte " << at;
  }
}

TEST(wire, refuses_what_is_longer_than_any_message_without_reading_it) {
  std::vector<std::byte> message(wire::message_max + 1);
  std::memcpy(message.data(), encoded(block{}).data(), 8);

  const auto read = decoded(message);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().detail.find("too long"), std::string::npos);
}

TEST(wire, refuses_sizes_that_wrap_around) {
  for (std::size_t field = 0; field < 6; ++field) {
    auto message = encoded(block{});
    std::memset(message.data() + 8 + 4 * field, 0xff, 4);
    EXPECT_FALSE(decoded(message)) << "size " << field;
  }
}

/// A block that is wrong in one place, which only a check of that place can notice.
block broken(const std::function<void(block&)>& damage) {
  auto made = *sample();
  damage(made);
  return made;
}

TEST(wire, refuses_every_index_that_points_outside) {
  const auto refuses = [](const char* what, const std::function<void(block&)>& damage) {
    EXPECT_FALSE(decoded(encoded(broken(damage)))) << what;
  };
  refuses("transaction of begin", [](block& b) { b.events[0].first = 3; });
  refuses("relation of insert", [](block& b) { b.events[1].relation = 2; });
  refuses("image of insert", [](block& b) { b.events[1].first = 7; });
  refuses("image at 2^32 - 1", [](block& b) { b.events[1].first = 0xffff'ffff; });
  refuses("both images of update", [](block& b) { b.events[2].first = 5; });
  refuses("image of remove", [](block& b) { b.events[3].first = 7; });
  refuses("relation of truncate", [](block& b) { b.events[4].relation = 9; });
  refuses("cells of truncate", [](block& b) { b.events[4].first = 9; });
  refuses("relation of row", [](block& b) { b.events[5].relation = 2; });
  refuses("transaction of commit", [](block& b) { b.events[6].first = 3; });
  refuses("transaction of advance", [](block& b) { b.events[7].first = 3; });
  refuses("end of a cell", [](block& b) { b.cells[0].size = 1000; });
  refuses("start of a cell", [](block& b) { b.cells[0].offset = 0xffff'ffff; });
  refuses("complete but absent", [](block& b) { b.events[2].is_partial = false; });
  refuses("partial but complete", [](block& b) { b.events[1].is_partial = true; });
  refuses("operation", [](block& b) { b.events[0].what = static_cast<operation>(8); });
  refuses("before image", [](block& b) { b.events[0].before = static_cast<before_image>(3); });
}

TEST(wire, refuses_a_relation_that_contradicts_itself) {
  const auto refuses = [](const char* what, const std::function<void(relation&)>& damage) {
    auto shape = *users();
    damage(shape);
    block made;
    made.relations.push_back(std::make_shared<const relation>(shape));
    EXPECT_FALSE(decoded(encoded(made))) << what;
  };
  refuses("key", [](relation& r) { r.key = {2}; });
  refuses("kind", [](relation& r) { r.columns[0].what = static_cast<kind>(17); });
  refuses("element", [](relation& r) { r.columns[1].element = static_cast<kind>(200); });
  refuses("identity", [](relation& r) { r.identity = static_cast<replica_identity>('x'); });
}

TEST(wire, survives_any_single_byte_being_something_else) {
  const auto message = encoded(*sample());
  for (std::size_t at = 0; at < message.size(); ++at) {
    for (int value = 0; value < 256; value += 5) {
      auto damaged = message;
      damaged[at] = static_cast<std::byte>(value);
      const auto read = decoded(damaged);
      if (read) {
        EXPECT_EQ(encoded(**read), damaged) << "byte " << at;
      }
    }
  }
}

TEST(wire, shares_one_relation_between_the_blocks_of_a_stream) {
  block_pool pool;
  wire::known_relations shapes;
  const auto message = encoded(*sample());
  const auto first = wire::decode_block(message, pool, shapes);
  const auto second = wire::decode_block(message, pool, shapes);

  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->relations[0], (*second)->relations[0]);
  EXPECT_EQ(shapes.size(), 2u);
}

TEST(wire, begins_its_table_of_relations_anew_at_its_bound) {
  block_pool pool;
  wire::known_relations shapes{4};
  for (std::uint32_t generation = 0; generation < 10; ++generation) {
    block made;
    auto shape = *users();
    shape.generation = generation;
    made.relations.push_back(std::make_shared<const relation>(shape));
    ASSERT_TRUE(wire::decode_block(encoded(made), pool, shapes));
    EXPECT_LE(shapes.size(), 4u);
  }
}

TEST(wire, gives_a_refused_block_back_to_its_pool) {
  block_pool pool{1};
  wire::known_relations shapes;
  const auto* only = pool.acquire().get();
  EXPECT_FALSE(
      wire::decode_block(encoded(broken([](block& b) { b.cells[0].size = 1000; })), pool, shapes));

  const auto read = wire::decode_block(encoded(*sample()), pool, shapes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->get(), only);
  expect_same(**read, *sample());
}

TEST(wire, carries_checkpoints_and_credit) {
  std::vector<std::byte> message;
  const checkpoint reached{.resume = {77}, .version = {std::uint64_t{1} << 50}};
  wire::encode(reached, message);
  EXPECT_EQ(wire::decode_checkpoint(message), reached);
  EXPECT_FALSE(wire::decode_credit(message));
  EXPECT_FALSE(wire::decode_checkpoint(std::span{message}.first(message.size() - 1)));

  const credit granted{.blocks = 4, .bytes = 1 << 20};
  wire::encode(granted, message);
  EXPECT_EQ(wire::decode_credit(message), granted);
  message.push_back(std::byte{0});
  EXPECT_FALSE(wire::decode_credit(message));
}

} // namespace
} // namespace cdc
