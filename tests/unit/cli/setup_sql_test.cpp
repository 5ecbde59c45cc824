#include "cli/commands/setup_sql.hpp"

#include <gtest/gtest.h>

namespace cdc::cli {

namespace {

constexpr auto postgres = "postgresql://cdc:hunter2@h/shop";
constexpr auto mysql = "mysql://cdc:hunter2@h/shop";

std::string script(const std::string& source, const std::string& sections, const char* url) {
  static const char* answer = nullptr;
  answer = url;
  const auto pipeline = config::parse(
      "[source]\nurl_env = \"URL\"\n" + source + "\n[target]\nflavor = \"null\"\n" + sections,
      "cdc.toml", [](const char*) { return std::optional<std::string>{answer}; });
  if (!pipeline) {
    ADD_FAILURE() << pipeline.error().detail;
    return {};
  }
  return setup_script(*pipeline).value();
}

void expect_has(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

} // namespace

TEST(setup_sql, makes_a_role_rights_and_a_publication) {
  const auto text = script("slot_name = \"s\"\npublication = \"p\"",
                           "[sync.a]\ntable = \"public.a\"\n[sync.b]\ntable = \"sales.b\"\n"
                           "append_only = true\n",
                           postgres);

  expect_has(text, "-- For cdc.toml");
  expect_has(text, "ALTER SYSTEM SET wal_level = 'logical';");
  expect_has(text, "CREATE ROLE \"cdc\" LOGIN REPLICATION PASSWORD");
  expect_has(text, "GRANT USAGE ON SCHEMA \"sales\" TO \"cdc\";");
  expect_has(text, "GRANT SELECT ON TABLE \"public\".\"a\" TO \"cdc\";");
  expect_has(text, "CREATE PUBLICATION \"p\" FOR TABLE \"public\".\"a\"");
  expect_has(text, "CREATE PUBLICATION \"p_append\" FOR TABLE \"sales\".\"b\"");
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
}

TEST(setup_sql, leaves_a_publication_of_patterns_to_who_knows_the_tables) {
  const auto text = script("slot_name = \"s\"", "[sync.a]\ntables = [\"sales.*\"]\n", postgres);

  expect_has(text, "GRANT SELECT ON ALL TABLES IN SCHEMA \"sales\" TO \"cdc\";");
  EXPECT_EQ(text.find("FOR TABLE"), std::string::npos);
}

TEST(setup_sql, makes_a_user_that_may_be_a_replica) {
  const auto text =
      script("flavor = \"mysql\"\nallow_table_lock = true",
             "[sync.a]\ntable = \"shop.a\"\n[sync.b]\ntables = [\"sales.*\"]\n", mysql);

  expect_has(text, "--   binlog_format = ROW\n");
  expect_has(text, "CREATE USER 'cdc'@'%' IDENTIFIED BY");
  expect_has(text, "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'cdc'@'%';");
  expect_has(text, "GRANT SELECT ON `shop`.`a` TO 'cdc'@'%';");
  expect_has(text, "GRANT SELECT ON `sales`.* TO 'cdc'@'%';");
  expect_has(text, "GRANT LOCK TABLES ON `shop`.* TO 'cdc'@'%';");
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
}

} // namespace cdc::cli
