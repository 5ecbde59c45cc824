#include <filesystem>
#include <fstream>

#include "config/connection_text.hpp"
#include "tests/unit/config/reading.hpp"

namespace cdc::config {

namespace {

/// A right file whose [source] is `lines`; its line 2 is the first of them.
std::string source(const std::string& lines) {
  return "[source]\n" + lines + target_lines + sync_lines;
}

std::string sslmode_of(const secret& url) {
  const auto parts = look_into(url.reveal());
  return parts ? parts->parameters.at("sslmode") : "";
}

/// A file that exists until the test ends.
class existing_file {
public:
  existing_file() : path_(std::filesystem::path{testing::TempDir()} / "config_test_ca.pem") {
    std::ofstream{path_} << "certificate";
  }
  ~existing_file() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

} // namespace

TEST(source_section, takes_the_url_from_the_environment_without_a_note) {
  const auto out = accepted(source("url_env = \"DATABASE_URL\"\n"));

  EXPECT_EQ(out.source.url.reveal(),
            "postgresql://reader:hunter2@db.example:6543/shop?sslmode=prefer");
  EXPECT_TRUE(out.notes.empty());
}

TEST(source_section, names_the_variable_that_is_missing_or_empty) {
  EXPECT_EQ(refused(source("url_env = \"NOT_THERE\"\n")),
            "cdc.toml:2:11: source.url_env: the environment variable NOT_THERE is not set");
  EXPECT_EQ(refused(source("url_env = \"EMPTY\"\n")),
            "cdc.toml:2:11: source.url_env: the environment variable EMPTY is empty");
}

TEST(source_section, does_not_repeat_a_url_that_stands_where_a_variable_should) {
  EXPECT_EQ(refused(source("url_env = \"postgresql://u:hunter2@h/d\"\n")),
            "cdc.toml:2:11: source.url_env: expected the name of an environment variable");
}

TEST(source_section, accepts_an_inline_url_with_a_note) {
  const auto out = accepted(source("url = \"postgresql://u:hunter2@h/d\"\n"));

  EXPECT_EQ(out.source.url_from, "source.url");
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_EQ(out.notes[0], "cdc.toml:2:7: source.url: a password in the file is readable by whoever "
                          "reads the file; use url_env");
}

TEST(source_section, wants_exactly_one_url) {
  EXPECT_EQ(refused(source("")), "cdc.toml:1:1: source.url_env: url_env or url is required");
  EXPECT_EQ(refused(source("url_env = \"DATABASE_URL\"\nurl = \"postgresql://h/d\"\n")),
            "cdc.toml:3:7: source.url: url and url_env exclude each other");
}

TEST(source_section, takes_the_key_value_form_of_libpq) {
  const auto out = accepted(source("url = \"host=h dbname=d password='a b'\"\n"));

  EXPECT_EQ(out.source.url.reveal(), "dbname='d' host='h' password='a b' sslmode='prefer'");
}

TEST(source_section, refuses_urls_of_other_databases_and_of_none) {
  EXPECT_NE(refused(source("url = \"mysql://u:hunter2@h/d\"\n")).find("flavor = \"mysql\""),
            std::string::npos);
  EXPECT_NE(refused(source("url = \"https://hunter2.example/\"\n")).find("expected postgresql://"),
            std::string::npos);
  EXPECT_NE(refused(source("url = \"hunter2\"\n")).find("expected postgresql://"),
            std::string::npos);
}

TEST(source_section, reads_sslmode_in_any_case_and_with_underscores) {
  for (const auto* spelled : {"VERIFY_CA", "verify-ca", "Verify-CA", "verify_ca"})
    EXPECT_EQ(
        accepted(source("url_env = \"DATABASE_URL\"\nsslmode = \"" + std::string{spelled} + "\"\n"))
            .source.sslmode,
        ssl_mode::verify_ca);
}

TEST(source_section, refuses_an_unknown_sslmode) {
  EXPECT_EQ(refused(source("url_env = \"DATABASE_URL\"\nsslmode = \"allow\"\n")),
            "cdc.toml:3:11: source.sslmode: expected one of \"disable\", \"prefer\", \"require\", "
            "\"verify-ca\", \"verify-full\"");
  EXPECT_EQ(refused(source("url = \"postgresql://h/d?sslmode=hunter2\"\n")),
            "cdc.toml:2:7: source.url: the URL's sslmode must be one of \"disable\", \"prefer\", "
            "\"require\", \"verify-ca\", \"verify-full\"");
}

TEST(source_section, prefers_tls_when_nobody_says_a_mode) {
  const auto out = accepted(source("url_env = \"DATABASE_URL\"\n")).source;

  EXPECT_EQ(out.sslmode, std::nullopt);
  EXPECT_EQ(out.sslmode_in_force, ssl_mode::prefer);
}

TEST(source_section, spells_the_mode_of_the_url_as_libpq_does) {
  const auto out = accepted(source("url = \"postgresql://h/d?sslmode=REQUIRE\"\n")).source;

  EXPECT_EQ(out.sslmode_in_force, ssl_mode::require);
  EXPECT_EQ(sslmode_of(out.url), "require");
}

TEST(source_section, lets_the_key_win_over_the_url) {
  const auto out =
      accepted(source("url = \"postgresql://h/d?sslmode=disable\"\nsslmode = \"verify-full\"\n"))
          .source;

  EXPECT_EQ(out.sslmode_in_force, ssl_mode::verify_full);
  EXPECT_EQ(sslmode_of(out.url), "verify-full");
}

TEST(source_section, keeps_a_stricter_mode_of_the_admin_url) {
  variables()["ADMIN_URL"] = "postgresql://admin@h/d?sslmode=verify-full";
  const auto out =
      accepted(source("url_env = \"DATABASE_URL\"\nadmin_url_env = \"ADMIN_URL\"\n")).source;

  ASSERT_TRUE(out.admin_url);
  EXPECT_EQ(sslmode_of(*out.admin_url), "verify-full");
  EXPECT_EQ(sslmode_of(out.url), "prefer");
}

TEST(source_section, gives_the_admin_url_the_mode_of_the_source) {
  variables()["ADMIN_URL"] = "postgresql://admin@h/d";
  const auto out = accepted(source("url_env = \"DATABASE_URL\"\nadmin_url_env = \"ADMIN_URL\"\n"
                                   "sslmode = \"require\"\n"))
                       .source;

  ASSERT_TRUE(out.admin_url);
  EXPECT_EQ(sslmode_of(*out.admin_url), "require");
}

TEST(source_section, reports_a_certificate_that_is_not_there) {
  EXPECT_EQ(refused(source("url_env = \"DATABASE_URL\"\nsslrootcert = \"/none/ca.pem\"\n")),
            "cdc.toml:3:15: source.sslrootcert: there is no such file");
  EXPECT_EQ(refused(source("url = \"postgresql://h/d?sslrootcert=%2Fnone%2Fca.pem\"\n")),
            "cdc.toml:2:7: source.url: the URL's sslrootcert: there is no such file");
}

TEST(source_section, wants_certificate_and_key_together) {
  const existing_file pem;
  const auto base = source("url_env = \"DATABASE_URL\"\nsslcert = \"" + pem.path() + "\"\n");

  EXPECT_EQ(refused(base),
            "cdc.toml:3:11: source.sslcert: sslcert and sslkey go together; one is missing");
  EXPECT_EQ(accepted(source("url = \"host=h sslkey=" + pem.path() + "\"\nsslcert = \"" +
                            pem.path() + "\"\n"))
                .source.sslcert,
            pem.path());
}

TEST(source_section, does_not_claim_that_require_verifies) {
  const existing_file pem;
  const auto out = accepted(source("url_env = \"DATABASE_URL\"\nsslmode = \"require\"\n"
                                   "sslrootcert = \"" +
                                   pem.path() + "\"\n"));

  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("sslmode require does not insist on it"), std::string::npos);
}

TEST(source_section, labels_itself_by_the_file_unless_told) {
  EXPECT_EQ(parse(with(""), "/etc/cdc/orders (eu).toml", look_up)->source.name, "orders--eu-");
  EXPECT_EQ(accepted(source("url_env = \"DATABASE_URL\"\nname = \"Shop_1\"\n")).source.name,
            "Shop_1");
  EXPECT_EQ(refused(source("url_env = \"DATABASE_URL\"\nname = \"a b\"\n")),
            "cdc.toml:3:8: source.name: expected letters, digits, _ and - only");
}

TEST(source_section, refuses_what_is_not_a_postgresql_log) {
  EXPECT_EQ(refused(source("url_env = \"DATABASE_URL\"\nmode = \"poll\"\n")),
            "cdc.toml:3:8: source.mode: \"poll\" is not supported yet");
  EXPECT_EQ(
      refused(source("url_env = \"DATABASE_URL\"\nflavor = \"oracle\"\n")),
      "cdc.toml:3:10: source.flavor: expected one of \"postgres\", \"postgresql\", \"mysql\", "
      "\"mariadb\"");
  std::ignore = accepted(source("url_env = \"DATABASE_URL\"\nflavor = \"postgresql\"\n"
                                "mode = \"wal\"\n"));
}

TEST(source_section, refuses_names_that_the_server_would) {
  EXPECT_EQ(refused(source("url_env = \"DATABASE_URL\"\nslot_name = \"My-Slot\"\n")),
            "cdc.toml:3:13: source.slot_name: expected at most 63 of a to z, 0 to 9 and _");
  EXPECT_EQ(refused(source("url_env = \"DATABASE_URL\"\npublication = \"" + std::string(57, 'p') +
                           "\"\n")),
            "cdc.toml:3:15: source.publication: expected at most 56 bytes, since _append is added "
            "for a second one");
}

TEST(connection_text, tells_servers_apart_by_host_and_port) {
  EXPECT_EQ(look_into("postgresql://u:p@h/d")->server, "h:5432");
  EXPECT_EQ(look_into("postgres://h:7/d?port=8")->server, "h:8");
  EXPECT_EQ(look_into("postgresql://[::1]/d")->server, "[::1]:5432");
  EXPECT_EQ(look_into("postgresql:///d?host=%2Ftmp")->server, "/tmp:5432");
  EXPECT_EQ(look_into("dbname=d port = 6 host='h'")->server, "h:6");
  EXPECT_EQ(look_into("dbname=d")->server, ":5432");
}

TEST(connection_text, does_not_take_a_question_mark_in_a_password_for_parameters) {
  const auto text = with_parameter("postgresql://u:a?b@h/d", "sslmode", "require");

  EXPECT_EQ(text, "postgresql://u:a?b@h/d?sslmode=require");
  EXPECT_EQ(look_into(text)->parameters.size(), 1u);
}

TEST(connection_text, adds_a_parameter_that_wins) {
  EXPECT_EQ(with_parameter("postgresql://h/d?a=1", "k", "/x y&z"),
            "postgresql://h/d?a=1&k=/x%20y%26z");
  EXPECT_EQ(with_parameter("postgresql://h/d?", "k", "v"), "postgresql://h/d?k=v");
  EXPECT_EQ(with_parameter("postgresql://h/d?a=1&", "k", "v"), "postgresql://h/d?a=1&k=v");
  EXPECT_EQ(with_parameter("postgresql://h/d?a=?", "k", "v"), "postgresql://h/d?a=?&k=v");
  EXPECT_EQ(with_parameter("host=h", "k", "it's \\"), "host='h' k='it\\'s \\\\'");
  EXPECT_EQ(look_into("host='h' k='it\\'s \\\\'")->parameters.at("k"), "it's \\");
}

TEST(connection_text, does_not_let_an_empty_value_swallow_what_is_added) {
  const auto text = with_parameter("host=h password=", "sslmode", "require");

  EXPECT_EQ(look_into(text)->parameters.at("password"), "");
  EXPECT_EQ(look_into(text)->parameters.at("sslmode"), "require");
}

TEST(connection_text, refuses_what_libpq_would_not_read) {
  for (const auto* text : {"", " ", "h", "host", "=h", "host='h", "host=h\\", "mysql://h/d"})
    EXPECT_FALSE(look_into(text)) << text;
}

} // namespace cdc::config
