#include "sources/postgres/plan.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::postgres {

namespace {

relation table(const std::vector<column>& columns, std::vector<std::uint16_t> key) {
  relation out;
  out.table = {"s", "T"};
  out.columns = columns;
  out.key = std::move(key);
  return out;
}

column of(std::string name, kind what, std::string type_name) {
  column out;
  out.name = std::move(name);
  out.what = what;
  out.type_name = std::move(type_name);
  return out;
}

const auto id = of("id", kind::integer, "int8");
const auto uuid = of("u", kind::other, "uuid");
const auto word = of("w\"", kind::text, "text");

stored_table stored(const std::vector<std::string>& types) {
  stored_table out;
  for (const auto& type : types)
    out.key.push_back(
        {.type = type, .operators = "pg_catalog", .is_not_null = true, .is_indexed = true});
  return out;
}

TEST(load_plan, claims_an_order_only_for_keys_that_can_be_ordered_here) {
  EXPECT_EQ(scheme_of(table({id}, {0})), range_scheme::key);
  EXPECT_EQ(scheme_of(table({id, uuid}, {1, 0})), range_scheme::key);
  EXPECT_EQ(scheme_of(table({id, word}, {0, 1})), range_scheme::opaque);
  EXPECT_EQ(scheme_of(table({id}, {})), range_scheme::keyless);
}

TEST(load_plan, makes_ranges_that_leave_no_gap_and_have_open_ends) {
  const auto ranges = key_ranges({{"3", "a"}, {"3", "b"}, {"3", "b"}, {"9", "a"}});

  ASSERT_EQ(ranges.size(), 4U);
  EXPECT_TRUE(ranges.front().from.empty());
  EXPECT_TRUE(ranges.back().to.empty());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    EXPECT_EQ(ranges[i].from, ranges[i - 1].to);
  EXPECT_EQ(key_ranges({}), std::vector{load_range{}});
}

TEST(load_plan, makes_page_ranges_that_leave_no_gap) {
  const auto ranges = page_ranges(10, 4);

  EXPECT_EQ(ranges, (std::vector<load_range>{{.from = {}, .to = {"4"}},
                                             {.from = {"4"}, .to = {"8"}},
                                             {.from = {"8"}, .to = {}}}));
  EXPECT_EQ(page_ranges(0, 4), std::vector{load_range{}});
}

TEST(load_plan, writes_conditions_that_hold_any_value) {
  const load_range range{.from = {"1", "it's"}, .to = {"2", "\\"}};

  EXPECT_EQ(where_clause(table({id, word}, {0, 1}), stored({"bigint", "text"}), false, range),
            R"( WHERE ROW("id", "w""") OPERATOR("pg_catalog".>=) ROW('1'::bigint, 'it''s'::text))"
            R"( AND ROW("id", "w""") OPERATOR("pg_catalog".<) ROW('2'::bigint, '\'::text))");
  EXPECT_EQ(where_clause(table({id}, {0}), stored({"bigint"}), false, {.from = {}, .to = {"7"}}),
            R"( WHERE "id" OPERATOR("pg_catalog".<) '7'::bigint)");
  EXPECT_EQ(where_clause(table({id}, {0}), stored({"bigint"}), false, {}), "");
  EXPECT_EQ(where_clause(table({id}, {0}), stored({"bigint"}), true, {.from = {"4"}, .to = {"8"}}),
            " WHERE ctid >= '(4,0)'::pg_catalog.tid AND ctid < '(8,0)'::pg_catalog.tid");
}

TEST(load_plan, asks_for_one_row_by_typed_parameters) {
  EXPECT_EQ(where_key(table({id, word}, {1, 0}), stored({"text", "bigint"})),
            R"( WHERE "w""" OPERATOR("pg_catalog".=) $1::text)"
            R"( AND "id" OPERATOR("pg_catalog".=) $2::bigint)");
}

TEST(load_plan, trusts_a_key_order_only_where_it_covers_every_row) {
  auto facts = stored({"bigint"});
  EXPECT_TRUE(facts.has_key_order());
  facts.key[0].is_not_null = false;
  EXPECT_FALSE(facts.has_key_order());
  facts = stored({"bigint"});
  facts.key[0].is_indexed = false;
  EXPECT_FALSE(facts.has_key_order());
  EXPECT_FALSE(stored({}).has_key_order());
}

TEST(load_plan, leaves_heirs_out_and_takes_leaves_in) {
  auto facts = stored({"bigint"});
  EXPECT_EQ(from_clause(table({id}, {0}), facts), " FROM ONLY \"s\".\"T\"");
  facts.is_partitioned = true;
  EXPECT_EQ(from_clause(table({id}, {0}), facts), " FROM \"s\".\"T\"");
}

} // namespace

} // namespace cdc::sources::postgres
