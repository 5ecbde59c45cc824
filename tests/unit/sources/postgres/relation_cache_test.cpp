#include "sources/postgres/relation_cache.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace cdc::sources::postgres {
namespace {

/// orders(id int8 key, note text) as the stream says it, to be changed by a test.
relation_message orders() {
  return {.oid = 7,
          .schema = "public",
          .name = "orders",
          .identity = replica_identity::primary_key,
          .columns = {{.name = "id", .type_oid = 20, .is_identity_key = true},
                      {.name = "note", .type_oid = 25}}};
}

/// The same as the catalogue says it.
relation in_catalogue(std::uint32_t generation) {
  relation made;
  made.table = {"public", "orders"};
  made.oid = 7;
  made.generation = generation;
  made.columns = {
      {.name = "id",
       .attribute = 1,
       .type_oid = 20,
       .what = kind::integer,
       .is_key = true,
       .is_identity_key = true,
       .type_name = "int8"},
      {.name = "note", .attribute = 2, .type_oid = 25, .what = kind::text, .type_name = "text"}};
  made.key = {0};
  return made;
}

relation_ptr share(relation made) {
  return std::make_shared<const relation>(std::move(made));
}

struct relation_cache_test : testing::Test {
  relation_cache known;

  relation_ptr shape() {
    const auto* found = known.find(7);
    return found ? found->shape : nullptr;
  }
};

TEST_F(relation_cache_test, does_not_know_what_was_never_described) {
  EXPECT_EQ(known.find(7), nullptr);
  known.provide(share(in_catalogue(1)));
  EXPECT_EQ(known.find(7), nullptr);
}

TEST_F(relation_cache_test, asks_only_for_what_rows_need) {
  known.announce(orders());
  ASSERT_NE(known.find(7), nullptr);
  EXPECT_EQ(shape(), nullptr);
  EXPECT_FALSE(known.wanted());
  known.want(7);
  known.want(7);
  EXPECT_EQ(known.wanted(), 7u);
  const auto given = share(in_catalogue(1));
  known.provide(given);
  EXPECT_EQ(shape(), given);
  EXPECT_FALSE(known.wanted());
}

TEST_F(relation_cache_test, needs_not_ask_for_what_it_was_given_before) {
  const auto given = share(in_catalogue(1));
  known.provide(given);
  known.announce(orders());
  EXPECT_EQ(shape(), given);
  EXPECT_FALSE(known.wanted());
}

TEST_F(relation_cache_test, asks_again_when_the_stream_changes_its_mind) {
  known.provide(share(in_catalogue(1)));
  known.announce(orders());
  auto changed = orders();
  changed.columns.push_back({.name = "added", .type_oid = 23});
  known.announce(changed);
  EXPECT_EQ(shape(), nullptr);
  auto now = in_catalogue(2);
  now.columns.push_back({.name = "added", .attribute = 3, .type_oid = 23, .what = kind::integer});
  const auto given = share(now);
  known.want(7);
  known.provide(given);
  EXPECT_EQ(shape(), given);
}

TEST_F(relation_cache_test, believes_the_stream_where_the_catalogue_is_ahead) {
  known.announce(orders());
  auto ahead = in_catalogue(5);
  ahead.table.name = "renamed";
  ahead.columns[1] = {.name = "note", .attribute = 3, .type_oid = 1700, .what = kind::decimal};
  ahead.columns.push_back({.name = "later", .attribute = 4, .type_oid = 25, .what = kind::text});
  known.want(7);
  known.provide(share(ahead));

  const auto made = shape();
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->table, (table_id{"public", "orders"}));
  EXPECT_EQ(made->generation, 5u);
  ASSERT_EQ(made->columns.size(), 2u);
  EXPECT_EQ(made->columns[0], in_catalogue(1).columns[0]);
  EXPECT_EQ(made->columns[1].attribute, 0);
  EXPECT_EQ(made->columns[1].what, kind::text);
  EXPECT_EQ(made->columns[1].type_name, "text");
  EXPECT_EQ(made->key, (std::vector<std::uint16_t>{0}));
}

TEST_F(relation_cache_test, gives_each_shape_of_a_table_a_higher_generation) {
  known.announce(orders());
  auto ahead = in_catalogue(5);
  ahead.columns.push_back({.name = "later", .attribute = 3, .type_oid = 25, .what = kind::text});
  known.want(7);
  known.provide(share(ahead));
  const auto before = shape();

  auto caught_up = orders();
  caught_up.columns.push_back({.name = "later", .type_oid = 25});
  known.announce(caught_up);
  EXPECT_EQ(shape(), nullptr);
  ahead.generation = 6;
  known.want(7);
  known.provide(share(ahead));
  EXPECT_LT(before->generation, shape()->generation);
}

TEST_F(relation_cache_test, reads_a_dropped_tables_last_rows_by_what_the_stream_says) {
  known.announce(orders());
  known.want(7);
  known.provide(nullptr);
  const auto made = shape();
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->columns[0].what, kind::integer);
  EXPECT_EQ(made->key, (std::vector<std::uint16_t>{0}));
  EXPECT_TRUE(made->columns[0].is_key);
  EXPECT_TRUE(known.find(7)->names_rows);
  EXPECT_FALSE(known.wanted());
}

TEST_F(relation_cache_test, looks_again_without_waiting_when_the_stream_repeats_itself) {
  const auto given = share(in_catalogue(1));
  known.provide(given);
  known.announce(orders());
  known.announce(orders());
  EXPECT_EQ(shape(), given);
  EXPECT_EQ(known.wanted(), 7u);
  known.provide(share(in_catalogue(2)));
  EXPECT_EQ(shape(), given) << "nothing had changed";
}

TEST_F(relation_cache_test, notices_a_column_dropped_and_added_again_under_its_name) {
  known.provide(share(in_catalogue(1)));
  known.announce(orders());
  known.announce(orders());
  auto again = in_catalogue(2);
  again.columns[1].attribute = 3;
  known.provide(share(again));
  EXPECT_EQ(shape()->generation, 2u);
  EXPECT_EQ(shape()->columns[1].attribute, 3);
}

TEST_F(relation_cache_test, keeps_its_shape_when_a_second_look_finds_a_later_one) {
  const auto given = share(in_catalogue(1));
  known.provide(given);
  known.announce(orders());
  known.announce(orders());
  auto ahead = in_catalogue(2);
  ahead.columns.pop_back();
  known.provide(share(ahead));
  EXPECT_EQ(shape(), given);
}

TEST_F(relation_cache_test, asks_for_several_in_turn) {
  known.want(3);
  known.want(7);
  EXPECT_EQ(known.wanted(), 3u);
  known.provide(share(in_catalogue(1)));
  EXPECT_EQ(known.wanted(), 3u);
  known.provide(nullptr);
  EXPECT_FALSE(known.wanted());
}

TEST_F(relation_cache_test, knows_that_an_identity_without_columns_names_no_row) {
  for (const auto identity : {replica_identity::nothing, replica_identity::primary_key}) {
    auto lost = orders();
    lost.identity = identity;
    lost.columns[0].is_identity_key = false;
    known.announce(lost);
    known.want(7);
    known.provide(share(in_catalogue(9)));
    EXPECT_FALSE(known.find(7)->names_rows);
  }
}

TEST_F(relation_cache_test, knows_that_a_full_identity_names_every_row) {
  auto full = orders();
  full.identity = replica_identity::full;
  for (auto& each : full.columns)
    each.is_identity_key = true;
  auto keyless = in_catalogue(2);
  keyless.key.clear();
  known.announce(full);
  known.want(7);
  known.provide(share(keyless));
  EXPECT_TRUE(known.find(7)->names_rows);
  EXPECT_TRUE(shape()->key.empty());
}

TEST(identity_remedy, names_the_table_quoted_and_the_way_back) {
  auto shape = in_catalogue(1);
  shape.table = {"My", "or\"ders"};
  shape.identity = replica_identity::nothing;
  EXPECT_EQ(identity_remedy(shape), R"(ALTER TABLE "My"."or""ders" REPLICA IDENTITY DEFAULT)");
  shape.key.clear();
  EXPECT_EQ(identity_remedy(shape), R"(ALTER TABLE "My"."or""ders" ADD PRIMARY KEY (…), or )"
                                    R"(ALTER TABLE "My"."or""ders" REPLICA IDENTITY FULL)");
}

TEST_F(relation_cache_test, asks_about_a_repetition_once_it_is_not_expected_any_more) {
  known.provide(share(in_catalogue(1)));
  known.announce(orders());
  known.expect_again(false);
  known.announce(orders());
  EXPECT_FALSE(known.wanted()) << "the server began anew, and says the same";
  known.announce(orders());
  EXPECT_EQ(known.wanted(), 7u) << "the second time it has a reason";
  known.provide(share(in_catalogue(1)));
  known.expect_again(false);
  known.expect_again(true);
  known.announce(orders());
  EXPECT_EQ(known.wanted(), 7u);
}

TEST_F(relation_cache_test, takes_a_new_shape_however_it_was_expected) {
  known.provide(share(in_catalogue(1)));
  known.announce(orders());
  known.expect_again(false);
  auto changed = orders();
  changed.columns.pop_back();
  known.announce(changed);
  EXPECT_EQ(shape(), nullptr);
}

} // namespace
} // namespace cdc::sources::postgres
