#include "tests/unit/config/reading.hpp"

namespace cdc::config {

namespace {

std::string target(const std::string& lines) {
  return std::string{source_lines} + lines + sync_lines;
}

using flavor = target_config::flavor;

} // namespace

TEST(target_section, reads_sqlite_with_its_options) {
  const auto out = accepted(target("[target]\nflavor = \"sqlite\"\npath = \"a.db\"\n"
                                   "numeric = \"number\"\nschema_changes = \"add\"\n"))
                       .targets;

  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].name, "target");
  EXPECT_EQ(out[0].what, flavor::sqlite);
  EXPECT_EQ(out[0].path, "a.db");
  EXPECT_TRUE(out[0].numeric_as_number);
  EXPECT_TRUE(out[0].add_columns);
}

TEST(target_section, keeps_numbers_exact_and_shapes_as_they_are_unless_told) {
  const auto out = accepted(target(target_lines)).targets;

  EXPECT_FALSE(out[0].numeric_as_number);
  EXPECT_FALSE(out[0].add_columns);
}

TEST(target_section, reads_ndjson_and_null) {
  const auto file = accepted(target("[target]\nflavor = \"ndjson\"\npath = \"a.ndjson\"\n"
                                    "rotate_bytes = 1000\n"));
  EXPECT_EQ(file.targets[0].what, flavor::ndjson);
  EXPECT_EQ(file.targets[0].rotate_bytes, 1000u);
  EXPECT_EQ(accepted(target("[target]\nflavor = \"ndjson\"\npath = \"-\"\n")).targets[0].path, "-");
  EXPECT_EQ(accepted(target("[target]\nflavor = \"null\"\n")).targets[0].what, flavor::null);
}

TEST(target_section, refuses_a_target_that_is_not_there_yet) {
  for (const auto* name : {"meilisearch", "postgres", "mysql", "sqlserver"})
    EXPECT_EQ(refused(target("[target]\nflavor = \"" + std::string{name} + "\"\n")),
              "cdc.toml:4:10: target.flavor: \"" + std::string{name} + "\" is not supported yet");
}

TEST(target_section, takes_opensearch_where_no_flavor_is_named) {
  const auto out = accepted(target("[target]\nurl = \"http://search\"\n"));
  EXPECT_EQ(out.targets[0].what, flavor::opensearch);
  EXPECT_EQ(out.targets[0].servers, (std::vector<server_url>{{false, "search", 9200}}));
  EXPECT_TRUE(out.targets[0].tls_verify);
  EXPECT_FALSE(out.targets[0].require_alias);
  EXPECT_EQ(out.syncs[0].into, "orders") << "the section's key names the index";
}

TEST(target_section, reads_servers_and_credentials_of_a_document_target) {
  const auto out = accepted(target("[target]\nflavor = \"elasticsearch\"\n"
                                   "url = [\"https://a:1\", \"https://[::1]:2/\"]\n"
                                   "username = \"u\"\npassword_env = \"DATABASE_URL\"\n"
                                   "sslrootcert = \"ca.pem\"\nrequire_alias = true\n"))
                       .targets[0];
  EXPECT_EQ(out.what, flavor::elasticsearch);
  EXPECT_EQ(out.servers, (std::vector<server_url>{{true, "a", 1}, {true, "::1", 2}}));
  EXPECT_EQ(out.username, "u");
  EXPECT_FALSE(out.password.empty());
  EXPECT_EQ(out.sslrootcert, "ca.pem");
  EXPECT_TRUE(out.require_alias);
}

TEST(target_section, refuses_a_url_that_is_none_and_repeats_nothing_of_it) {
  const auto url = [](const std::string& text) {
    return refused(target("[target]\nurl = \"" + text + "\"\n"));
  };
  EXPECT_EQ(url("hunter2:9200"),
            "cdc.toml:4:7: target.url: expected http://host:port or https://host:port");
  EXPECT_EQ(url("http://u:hunter2@h:1"),
            "cdc.toml:4:7: target.url: credentials do not belong in the URL: use username and "
            "password_env, or api_key_env");
  EXPECT_EQ(url("http://h:1/hunter2"),
            "cdc.toml:4:7: target.url: a path or a query does not belong in the URL");
  for (const auto* text : {"http://", "http://:9200", "http://h:0", "http://h:70000", "http://h:x",
                           "http://[::1", "http://a b", "ftp://h"})
    EXPECT_EQ(url(text), "cdc.toml:4:7: target.url: expected http://host:port or https://host:port")
        << text;
  EXPECT_NE(url("https://x.us-east-1.aoss.amazonaws.com").find("Serverless"), std::string::npos);
}

TEST(target_section, wants_credentials_whole_and_only_once) {
  const auto with_keys = [](const std::string& lines) {
    return refused(target("[target]\nurl = \"https://h\"\n" + lines));
  };
  EXPECT_EQ(with_keys("username = \"u\"\n"),
            "cdc.toml:5:12: target.username: username and a password go together");
  EXPECT_EQ(with_keys("password_env = \"DATABASE_URL\"\n"),
            "cdc.toml:5:16: target.password_env: username and a password go together");
  EXPECT_NE(with_keys("username = \"u\"\npassword = \"hunter2\"\napi_key_env = \"DATABASE_URL\"\n")
                .find("exclude each other"),
            std::string::npos);
  EXPECT_EQ(refused(target("[target]\nflavor = \"opensearch\"\n")),
            "cdc.toml:3:1: target.url: url or url_env is required: https://host:9200");
}

TEST(target_section, refuses_options_that_would_do_nothing) {
  EXPECT_EQ(refused(target("[target]\nflavor = \"null\"\npath = \"a\"\nnumeric = \"text\"\n")),
            "cdc.toml:5:8: target.path: does nothing for flavor \"null\"\n"
            "cdc.toml:6:11: target.numeric: is for flavor \"sqlite\"; it does nothing for "
            "\"null\"");
  EXPECT_EQ(refused(target("[target]\nflavor = \"sqlite\"\npath = \"a\"\nrotate_bytes = 5\n")),
            "cdc.toml:6:16: target.rotate_bytes: is for flavor \"ndjson\"; it does nothing for "
            "\"sqlite\"");
  EXPECT_EQ(refused(target("[target]\nflavor = \"ndjson\"\npath = \"-\"\nrotate_bytes = 5\n")),
            "cdc.toml:6:16: target.rotate_bytes: does nothing for standard output");
  EXPECT_EQ(refused(target("[target]\nflavor = \"null\"\nurl = \"http://h\"\n")),
            "cdc.toml:5:7: target.url: does nothing for flavor \"null\"");
  EXPECT_EQ(refused(target("[target]\nurl = \"http://h\"\ntls_verify = false\n")),
            "cdc.toml:5:14: target.tls_verify: does nothing for an http:// URL");
  EXPECT_EQ(refused(target("[target]\nurl = \"http://h\"\npath = \"a\"\n")),
            "cdc.toml:5:8: target.path: does nothing for flavor \"opensearch\"");
}

TEST(target_section, wants_a_path_where_there_is_a_file) {
  EXPECT_EQ(refused(target("[target]\nflavor = \"sqlite\"\n")),
            "cdc.toml:3:1: target.path: is required: the file to write");
  EXPECT_EQ(refused(target("[target]\nflavor = \"sqlite\"\npath = \"-\"\n")),
            "cdc.toml:5:8: target.path: a database cannot be written to standard output");
}

TEST(target_section, reads_several_sinks_in_order) {
  const auto out = accepted(target("[[sink]]\nname = \"db\"\nflavor = \"sqlite\"\npath = \"a.db\"\n"
                                   "[[sink]]\nname = \"log\"\nflavor = \"ndjson\"\npath = \"-\"\n"))
                       .targets;

  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].name, "db");
  EXPECT_EQ(out[1].name, "log");
  EXPECT_EQ(out[1].at, (place{"cdc.toml", 7, 1}));
}

TEST(target_section, wants_each_sink_named_and_none_twice) {
  EXPECT_EQ(refused(target("[[sink]]\nflavor = \"null\"\n"
                           "[[sink]]\nflavor = \"null\"\nname = \"a b\"\n")),
            "cdc.toml:3:1: sink[1].name: is required: it tells this sink from the others\n"
            "cdc.toml:7:8: sink[2].name: expected letters, digits, _ and - only");
  EXPECT_EQ(refused(target("[[sink]]\nflavor = \"null\"\nname = \"a\"\n"
                           "[[sink]]\nflavor = \"null\"\nname = \"a\"\n")),
            "cdc.toml:6:1: sink.name: two sinks have this name");
}

TEST(target_section, lets_one_sink_write_a_file) {
  const std::string one = "flavor = \"ndjson\"\npath = \"-\"\n";
  EXPECT_EQ(refused(target("[[sink]]\nname = \"a\"\n" + one + "[[sink]]\nname = \"b\"\n" + one)),
            "cdc.toml:7:1: sink.path: two sinks write this file");
}

TEST(target_section, refuses_target_and_sinks_together) {
  EXPECT_EQ(refused(target(std::string{target_lines} + "[[sink]]\nname = \"a\"\n"
                                                       "flavor = \"null\"\n")),
            "cdc.toml:3:1: target: [target] and [[sink]] exclude each other");
  EXPECT_EQ(refused(target("[sink]\nname = \"a\"\nflavor = \"null\"\n")),
            "cdc.toml:3:1: sink: expected [[sink]], a list of tables");
  EXPECT_EQ(refused(target("") + "[[sinks]]\n"),
            "cdc.toml:1:1: target: this section is missing\n"
            "cdc.toml:5:1: sinks: no such option; did you mean sink?");
}

} // namespace cdc::config
