#include "config/mysql_url.hpp"
#include "tests/unit/config/reading.hpp"

namespace cdc::config {

namespace {

/// A right file with a MySQL source of these lines; its line 4 is the first of them.
std::string mysql_source(const std::string& lines) {
  return "[source]\nflavor = \"mysql\"\nurl = \"mysql://u:hunter2@h/d\"\n" + lines + target_lines +
         sync_lines;
}

} // namespace

TEST(mysql_source, reads_its_own_keys) {
  const auto out = accepted(mysql_source("server_id = 7\nallow_table_lock = true\n"));

  EXPECT_EQ(out.source.what, source_config::flavor::mysql);
  EXPECT_EQ(out.source.server_id, 7u);
  EXPECT_TRUE(out.source.allow_table_lock);
  EXPECT_EQ(out.source.url.reveal(), "mysql://u:hunter2@h/d");
}

TEST(mysql_source, refuses_the_keys_of_the_other_product_by_name) {
  EXPECT_EQ(refused(mysql_source("slot_name = \"a\"\n")),
            "cdc.toml:4:13: source.slot_name: belongs to a PostgreSQL source; flavor is \"mysql\"");
  EXPECT_NE(refused("[source]\nurl = \"postgresql://u@h/d\"\nserver_id = 3\n" +
                    std::string{target_lines} + sync_lines)
                .find("source.server_id: belongs to a MySQL or MariaDB source"),
            std::string::npos);
}

TEST(mysql_source, says_which_flavor_a_url_needs) {
  EXPECT_NE(refused("[source]\nurl = \"mysql://u:hunter2@h/d\"\n" + std::string{target_lines} +
                    sync_lines)
                .find("needs flavor = \"mysql\""),
            std::string::npos);
  EXPECT_NE(refused("[source]\nflavor = \"mysql\"\nurl = \"postgresql://u:hunter2@h/d\"\n" +
                    std::string{target_lines} + sync_lines)
                .find("needs flavor = \"postgres\""),
            std::string::npos);
}

TEST(mysql_url, is_taken_apart_and_decoded) {
  const auto out = *parse_mysql_url("mysql://a%40b:p%2Fw%3A@[::1]:3307/d%20b?sslmode=require");

  EXPECT_EQ(out.user, "a@b");
  EXPECT_EQ(out.password.reveal(), "p/w:");
  EXPECT_EQ(out.host, "::1");
  EXPECT_EQ(out.port, 3307);
  EXPECT_EQ(out.database, "d b");
  EXPECT_EQ(out.parameters.at("sslmode"), "require");
}

TEST(mysql_url, needs_a_user_and_a_host_and_a_port_that_is_one) {
  for (const auto* text :
       {"mysql://", "mysql://h/d", "mysql://u@/d", "mysql://u@h:0/d", "mysql://u@h:70000/d",
        "mysql://u:a/b@h/d", "mysql://u@h/d?x=1", "mysql://u@[::1/d", "postgresql://u@h/d", ""})
    EXPECT_FALSE(parse_mysql_url(text)) << text;
}

} // namespace cdc::config
