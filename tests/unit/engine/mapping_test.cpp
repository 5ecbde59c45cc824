#include "engine/mapping.hpp"

#include <gtest/gtest.h>

#include "tests/unit/engine/script.hpp"

namespace cdc::engine::test {
namespace {

config::sync_config section(std::string key = "items") {
  config::sync_config out;
  out.key = std::move(key);
  out.tables = {"public.items"};
  out.table = {"public", "items"};
  return out;
}

std::vector<std::string> names(const target_table& of) {
  std::vector<std::string> out;
  for (const auto& each : of.columns)
    out.push_back(each.name);
  return out;
}

std::string refusal(const relation_ptr& shape, const config::sync_config& by) {
  const auto made = make_target(shape, by);
  return made ? "accepted" : made.error().detail;
}

TEST(mapping, takes_every_column_under_the_tables_own_name) {
  const auto shape = shape_of("items", 1);

  const auto made = make_target(shape, section());

  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->name, "items");
  EXPECT_EQ((*made)->source, shape);
  EXPECT_EQ(names(**made), (std::vector<std::string>{"id", "a", "b", "c"}));
  EXPECT_EQ((*made)->key, (std::vector<std::uint16_t>{0}));
  EXPECT_TRUE((*made)->columns[0].is_key);
  EXPECT_EQ((*made)->columns[1].what, kind::text);
}

TEST(mapping, projects_renames_and_adds_constants) {
  auto by = section();
  by.into = "things";
  by.columns = {"id", "b", "c"};
  by.exclude_columns = {"c"};
  by.fields = {{"id", "key"}, {"b", "bee"}};
  by.constants = {{"origin", {.text = "{schema}.{table}", .what = kind::text}}};

  const auto made = make_target(shape_of("items", 1), by);

  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ((*made)->name, "things");
  EXPECT_EQ(names(**made), (std::vector<std::string>{"key", "bee", "origin"}));
  EXPECT_EQ((*made)->columns[1].source, std::optional<std::uint16_t>{2});
  EXPECT_EQ((*made)->columns[2].source, std::nullopt);
  EXPECT_EQ((*made)->columns[2].constant, "public.items");
}

TEST(mapping, says_every_mistake_of_a_section_at_once) {
  auto by = section();
  by.columns = {"id", "x"};
  by.exclude_columns = {"y"};
  by.fields = {{"z", "zed"}};
  by.at = {"cdc.toml", 12, 1};

  const auto said = refusal(shape_of("items", 1), by);

  EXPECT_NE(said.find("cdc.toml:12:1: sync.items.columns: public.items has no column x"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("sync.items.exclude_columns: public.items has no column y"),
            std::string::npos);
  EXPECT_NE(said.find("sync.items.fields: public.items has no column z"), std::string::npos);
}

TEST(mapping, a_section_of_many_tables_names_what_only_some_have) {
  auto by = section();
  by.is_pattern = true;
  by.exclude_columns = {"secret", "a"};

  const auto made = make_target(shape_of("items", 1), by);

  ASSERT_TRUE(made);
  EXPECT_EQ(names(**made), (std::vector<std::string>{"id", "b", "c"}));
}

TEST(mapping, refuses_a_key_that_is_left_out) {
  auto by = section();
  by.exclude_columns = {"id"};

  EXPECT_NE(refusal(shape_of("items", 1), by).find("key column id"), std::string::npos);
}

TEST(mapping, refuses_two_columns_of_one_name) {
  auto by = section();
  by.fields = {{"a", "b"}};

  EXPECT_NE(refusal(shape_of("items", 1), by).find("would be named b"), std::string::npos);
  by.fields = {{"a", "b"}, {"b", "a"}};
  EXPECT_EQ(refusal(shape_of("items", 1), by), "accepted");
}

TEST(mapping, names_the_constant_that_takes_the_name_of_a_column) {
  auto by = section();
  by.constants = {{"b", {.text = "x", .what = kind::text}}};

  const auto said = refusal(shape_of("items", 1), by);
  EXPECT_NE(said.find("constants: two columns of items would be named b"), std::string::npos)
      << said;
}

TEST(mapping, refuses_a_table_whose_changes_name_no_row) {
  auto shape = *shape_of("items", 1);
  shape.key.clear();
  shape.columns[0].is_identity_key = false;

  const auto made = make_target(std::make_shared<relation>(shape), section());

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::identity_missing);
  EXPECT_NE(made.error().detail.find("ALTER TABLE \"public\".\"items\" REPLICA IDENTITY FULL"),
            std::string::npos);
  EXPECT_NE(made.error().detail.find("append_only"), std::string::npos);
}

TEST(mapping, takes_a_table_without_a_key_under_a_full_identity) {
  const auto made = make_target(keyless_shape("items", 1), section());

  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->key.empty());
}

TEST(mapping, refuses_a_key_that_old_rows_do_not_hold) {
  auto by = section();
  by.primary_key = {"a"};
  const auto shape = with_key(shape_of("items", 1), by);
  ASSERT_TRUE(shape);

  EXPECT_NE(refusal(*shape, by).find("replica identity"), std::string::npos);
}

TEST(mapping, puts_the_sections_key_in_place_of_the_catalogues) {
  auto by = section();
  by.primary_key = {"c", "a"};

  const auto shape = with_key(shape_of("items", 1), by);

  ASSERT_TRUE(shape);
  EXPECT_EQ((*shape)->key, (std::vector<std::uint16_t>{3, 1}));
  EXPECT_FALSE((*shape)->columns[0].is_key);
  EXPECT_TRUE((*shape)->columns[3].is_key);
  by.primary_key = {"nothing"};
  EXPECT_FALSE(with_key(shape_of("items", 1), by));
}

TEST(mapping, append_only_drops_the_key) {
  auto by = section();
  by.append_only = true;

  const auto shape = with_key(shape_of("items", 1), by);
  ASSERT_TRUE(shape);
  EXPECT_TRUE((*shape)->key.empty());
  const auto made = make_target(*shape, by);

  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->append_only);
  EXPECT_TRUE((*made)->key.empty());
}

TEST(mapping, an_exact_section_wins_over_a_pattern) {
  std::vector<config::sync_config> all{section("all"), section("one")};
  all[0].is_pattern = true;
  all[0].tables = {"public.*"};
  all[0].table = {};

  EXPECT_EQ(section_for(all, {"public", "items"}), &all[1]);
  EXPECT_EQ(section_for(all, {"public", "others"}), &all[0]);
  EXPECT_EQ(section_for(all, {"private", "items"}), nullptr);
}

TEST(mapping, tells_drift_in_words) {
  const auto before = *shape_of("items", 1);
  auto after = before;
  after.columns[1].name = "alpha";
  after.columns[2].type_oid = 20;
  after.columns[2].what = kind::integer;
  after.columns[2].type_name = "int8";
  after.columns[3] = {.name = "c", .attribute = 9, .type_oid = 25, .what = kind::text};

  EXPECT_EQ(describe_drift(before, after),
            "a is now named alpha, b is now int8, added c, removed c");
  EXPECT_EQ(describe_drift(before, before), "");
}

TEST(mapping, knows_a_column_by_its_name_when_the_log_alone_speaks_of_it) {
  const auto before = *shape_of("items", 1);
  auto after = before;
  after.columns[0].attribute = 0;
  after.columns[1].name = "alpha";
  EXPECT_EQ(describe_drift(before, after), "a is now named alpha");
}

} // namespace
} // namespace cdc::engine::test
