#include "sources/postgres/publication.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::postgres {

namespace {

wanted_table table(std::uint32_t oid, std::string name) {
  auto shape = std::make_shared<relation>();
  shape->oid = oid;
  shape->table = {"public", std::move(name)};
  wanted_table out;
  out.shape = std::move(shape);
  return out;
}

publication_state publication_of(std::vector<wanted_table> tables) {
  publication_state out;
  out.name = "p";
  for (const auto& each : tables)
    out.members.push_back({.oid = each.shape->oid, .table = each.shape->table});
  return out;
}

using sentences = std::vector<std::string>;

TEST(publication, is_made_with_the_root_of_partitions_and_without_heirs) {
  auto heirs = table(2, "b\"");
  heirs.has_heirs = true;
  const std::vector tables{table(1, "a"), heirs};

  EXPECT_EQ(create_publication("My-p", publishing::everything, tables, 150000),
            R"(CREATE PUBLICATION "My-p" FOR TABLE "public"."a", ONLY "public"."b""" )"
            R"(WITH (publish_via_partition_root = true);)");
}

TEST(publication, publishes_generated_columns_where_the_server_can) {
  const auto text =
      create_publication("p", publishing::everything, std::vector{table(1, "a")}, 180000);

  EXPECT_NE(text.find("publish_generated_columns = stored"), std::string::npos);
}

TEST(publication, of_tables_that_cannot_be_told_apart_publishes_no_update) {
  const auto text =
      create_publication("p", publishing::insert_only, std::vector{table(1, "a")}, 150000);

  EXPECT_NE(text.find("publish = 'insert, truncate'"), std::string::npos);
}

TEST(publication, that_carries_what_it_should_differs_in_nothing) {
  const std::vector tables{table(1, "a"), table(2, "b")};

  EXPECT_EQ(differences(publication_of(tables), publishing::everything, tables, {}), sentences{});
}

TEST(publication, is_judged_member_by_member) {
  const std::vector wanted{table(1, "a"), table(2, "b")};
  const auto is = publication_of({table(2, "b"), table(3, "c"), table(4, "d")});

  EXPECT_EQ(
      differences(is, publishing::everything, wanted, std::vector{table(4, "d")}),
      (sentences{"publication p lacks public.a: ALTER PUBLICATION \"p\" ADD TABLE "
                 "\"public\".\"a\";",
                 "publication p has tables that no section takes, public.c: ALTER PUBLICATION "
                 "\"p\" DROP TABLE \"public\".\"c\";"}));
}

TEST(publication, of_a_schema_or_of_all_tables_lacks_nothing) {
  const std::vector wanted{table(1, "a")};
  publication_state all;
  all.name = "p";
  auto schema = all;
  all.all_tables = true;
  schema.schemas = {{.entry = 16500, .name = "public"}};

  EXPECT_EQ(differences(all, publishing::everything, wanted, {}), sentences{});
  EXPECT_EQ(differences(schema, publishing::everything, wanted, {}), sentences{});
}

TEST(publication, must_publish_what_it_is_for) {
  const std::vector wanted{table(1, "a")};
  auto is = publication_of(wanted);
  is.deletes = false;

  EXPECT_EQ(differences(is, publishing::everything, wanted, {}).size(), 1U);
  EXPECT_EQ(differences(is, publishing::insert_only, wanted, {}), sentences{});
  is.truncates = false;
  EXPECT_EQ(differences(is, publishing::insert_only, wanted, {}).size(), 1U);
}

TEST(publication, must_not_publish_updates_that_would_fail) {
  auto bare = table(1, "a");
  bare.has_identity = false;
  const auto found =
      differences(publication_of({bare}), publishing::insert_only, std::vector{bare}, {});

  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("SET (publish = 'insert, truncate')"), std::string::npos);
}

TEST(publication, must_name_partitions_by_their_root) {
  auto root = table(1, "a");
  root.is_partitioned = true;
  auto is = publication_of({root});
  is.via_root = false;

  EXPECT_EQ(differences(is, publishing::everything, std::vector{root}, {}).size(), 1U);
}

} // namespace

} // namespace cdc::sources::postgres
