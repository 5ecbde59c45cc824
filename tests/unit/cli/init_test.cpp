#include "cli/commands/init.hpp"

#include <gtest/gtest.h>

namespace cdc::cli {

namespace {

using origin = config::source_config::flavor;
using sources::proposed_table;

proposed_table table(const std::string& schema, const std::string& name,
                     std::vector<std::string> columns = {"id"}) {
  auto shape = std::make_shared<relation>();
  shape->table = {schema, name};
  for (auto& each : columns) {
    shape->columns.emplace_back();
    shape->columns.back().name = std::move(each);
  }
  return {.shape = shape};
}

config::pipeline_config read_back(const std::string& text) {
  const auto is_mysql = text.find("flavor = \"mysql\"") != std::string::npos;
  const auto out = config::parse(
      text, "cdc.toml",
      is_mysql
          ? [](const char*) { return std::optional<std::string>{"mysql://u:hunter2@h/d"}; }
          : [](const char*) { return std::optional<std::string>{"postgresql://u:hunter2@h/d"}; });
  if (!out)
    ADD_FAILURE() << out.error().detail << "\n" << text;
  return out.value_or(config::pipeline_config{});
}

std::string written(std::vector<proposed_table> tables, const init_options& options = {},
                    origin what = origin::postgres) {
  return write_configuration(options, what, parse_target(options.target).value(),
                             {"shop", "h:5432/shop as u", std::move(tables)});
}

proposed_table keyed(proposed_table from) {
  auto shape = std::make_shared<relation>(*from.shape);
  shape->key = {0};
  from.shape = shape;
  return from;
}

init_options to(const std::string& target) {
  init_options out;
  out.target = target;
  return out;
}

} // namespace

TEST(init, writes_a_section_for_each_table) {
  const auto out = read_back(written({table("public", "orders"), table("public", "lines")}));

  ASSERT_EQ(out.syncs.size(), 2u);
  EXPECT_EQ(out.syncs[0].key, "orders");
  EXPECT_EQ(out.syncs[0].table, (table_id{"public", "orders"}));
  EXPECT_EQ(out.syncs[1].table, (table_id{"public", "lines"}));
  EXPECT_EQ(out.source.slot_name, "cdc_shop");
  EXPECT_EQ(out.source.publication, "cdc_shop_pub");
  EXPECT_EQ(out.targets[0].path, "cdc.db");
  EXPECT_TRUE(out.notes.empty());
}

TEST(init, writes_the_variable_and_never_the_url) {
  auto options = to("ndjson:-");
  options.source = "postgresql://u:hunter2@h/d";
  options.url_env = "SHOP_URL";
  const auto text = written({table("public", "orders")}, options);

  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_NE(text.find("url_env = \"SHOP_URL\""), std::string::npos);
  EXPECT_EQ(read_back(text).targets[0].what, config::target_config::flavor::ndjson);
}

TEST(init, takes_a_keyless_table_for_its_inserts) {
  auto log = table("public", "log");
  log.append_only = true;
  const auto out = read_back(written({log}));

  EXPECT_TRUE(out.syncs[0].append_only);
}

TEST(init, leaves_out_what_cannot_be_taken_and_says_why) {
  auto secret = table("public", "secret");
  secret.refusal = "u may not read public.secret: GRANT SELECT …;\nand more";
  const auto text = written({secret, table("public", "orders")});

  EXPECT_EQ(read_back(text).syncs.size(), 1u);
  EXPECT_NE(text.find("# Left out: u may not read public.secret: GRANT SELECT …;\n# and more\n"),
            std::string::npos);
}

TEST(init, leaves_out_columns_that_sqlite_takes_for_one) {
  const auto odd = table("public", "odd", {"id", "ID"});

  EXPECT_NE(written({odd}).find("# Left out: SQLite does not tell"), std::string::npos);
  EXPECT_EQ(read_back(written({odd}, to("null"))).syncs.size(), 1u);
}

TEST(init, gives_tables_of_one_name_targets_of_their_own) {
  const auto out =
      read_back(written({table("a", "t"), table("b", "t"), table("c", "T"), table("d", "a_t")}));

  ASSERT_EQ(out.syncs.size(), 4u);
  EXPECT_EQ(out.syncs[0].into, "");
  EXPECT_EQ(out.syncs[1].into, "b_t");
  EXPECT_EQ(out.syncs[2].into, "c_T");
  EXPECT_EQ(out.syncs[3].into, "");
}

TEST(init, writes_any_name_so_that_it_is_read_back) {
  const std::vector<table_id> odd{
      {"My.Schema", "Order \"X\""}, {"s", "*"},     {"s", "back\\slash"},
      {"s", "new\nline"},           {"s", "Übung"}, {"!x", "'"}};
  std::vector<proposed_table> tables;
  for (const auto& id : odd)
    tables.push_back(table(id.schema, id.name));
  const auto out = read_back(written(tables));

  ASSERT_EQ(out.syncs.size(), odd.size());
  for (std::size_t i = 0; i < odd.size(); ++i)
    EXPECT_EQ(out.syncs[i].table, odd[i]);
}

TEST(init, makes_a_slot_of_any_database_name) {
  const auto text = write_configuration({}, origin::postgres, parse_target("null").value(),
                                        {"Büro-DB " + std::string(80, 'x'), "", {table("a", "b")}});
  const auto out = read_back(text);

  EXPECT_EQ(out.source.slot_name.substr(0, 12), "cdc_b__ro_db");
  EXPECT_LE(out.source.publication.size() + std::string_view{"_append"}.size(), 63u);
}

TEST(init, works_without_a_database) {
  init_options options;
  options.tables = {"public.orders", "sales.orders"};
  const auto named = write_configuration(options, parse_target(options.target).value());
  ASSERT_TRUE(named);
  EXPECT_EQ(read_back(*named).syncs.size(), 2u);
  EXPECT_EQ(read_back(*named).syncs[1].into, "sales_orders");

  const auto all = write_configuration({}, parse_target("null").value());
  ASSERT_TRUE(all);
  EXPECT_TRUE(read_back(*all).syncs[0].is_pattern);

  options.tables = {"orders"};
  EXPECT_FALSE(write_configuration(options, parse_target("null").value()));
}

TEST(init, writes_a_mysql_source_as_the_replica_that_nobody_is) {
  const auto text = written({keyed(table("shop", "orders"))}, {}, origin::mysql);
  const auto out = read_back(text);

  EXPECT_EQ(out.source.what, origin::mysql);
  EXPECT_GE(out.source.server_id, 100'000'000u);
  EXPECT_EQ(out.syncs[0].table, (table_id{"shop", "orders"}));
  EXPECT_EQ(text.find("slot_name"), std::string::npos);
  EXPECT_NE(text.find("export CDC_SOURCE_URL=mysql://"), std::string::npos);
  EXPECT_TRUE(out.notes.empty());
  const auto other =
      read_back(written({keyed(table("shop", "orders"))}, to("sqlite:other.db"), origin::mysql));
  EXPECT_NE(other.source.server_id, out.source.server_id);
}

TEST(init, says_what_someone_should_know_of_a_table) {
  auto log = table("shop", "log");
  log.remark = "Without a key.\nBeware.";

  EXPECT_NE(written({log}, {}, origin::mysql).find("# Without a key.\n# Beware.\n[sync.log]"),
            std::string::npos);
}

TEST(init, names_indices_as_a_search_server_takes_them) {
  const auto out =
      read_back(written({keyed(table("shop", "Order Lines")), keyed(table("shop", "2nd")),
                         keyed(table("old", "order_lines"))},
                        to("opensearch:https://search:9200")));

  ASSERT_EQ(out.syncs.size(), 3u);
  EXPECT_EQ(out.syncs[0].into, "order_lines");
  EXPECT_EQ(out.syncs[1].into, "t_2nd");
  EXPECT_EQ(out.syncs[2].into, "old_order_lines");
  EXPECT_EQ(out.targets[0].what, config::target_config::flavor::opensearch);
  EXPECT_EQ(config::to_string(out.targets[0].servers.at(0)), "https://search:9200");
}

TEST(init, takes_a_keyless_table_into_documents_for_its_inserts) {
  const auto text =
      written({table("shop", "log")}, to("elasticsearch:http://search"), origin::mysql);

  EXPECT_TRUE(read_back(text).syncs[0].append_only);
  EXPECT_NE(text.find("an update or a delete halts"), std::string::npos);
}

TEST(init, refuses_targets_that_cannot_be) {
  for (const auto* text :
       {"sqlite", "sqlite:", "sqlite:-", "ndjson:", "null:x", "oracle:x", "", "opensearch",
        "opensearch:", "opensearch:search", "elasticsearch:http://h/path", "elasticsearch:ftp://h"})
    EXPECT_FALSE(parse_target(text)) << text;
  const auto with_password = parse_target("opensearch:https://u:hunter2@h");
  ASSERT_FALSE(with_password);
  EXPECT_EQ(with_password.error().detail.find("hunter2"), std::string::npos);
  EXPECT_EQ(parse_target("sqlite:C:/a b.db")->path, "C:/a b.db");
}

} // namespace cdc::cli
