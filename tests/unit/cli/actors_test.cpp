#include "cli/commands/actors.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace cdc::cli {
namespace {

std::optional<std::string> no_variable(const char*) {
  return std::nullopt;
}
std::optional<std::string> every_variable(const char* name) {
  return std::string{"value of "} + name;
}

actors_options at(const std::string& url) {
  actors_options named;
  named.url = url;
  return named;
}

/// A configuration in a file that ends with the test.
class written_config {
public:
  explicit written_config(const std::string& metrics)
      : path_(std::filesystem::path{testing::TempDir()} /
              (std::string{testing::UnitTest::GetInstance()->current_test_info()->name()} +
               ".toml")) {
    std::ofstream{path_} << "[source]\nurl = \"postgresql://u@h/d\"\n[target]\nflavor = \"null\"\n"
                            "[sync.a]\ntable = \"public.a\"\n"
                         << metrics;
  }
  ~written_config() { std::filesystem::remove(path_); }
  written_config(const written_config&) = delete;
  written_config& operator=(const written_config&) = delete;

  [[nodiscard]] actors_options options() const {
    actors_options named;
    named.config = path_;
    return named;
  }

private:
  std::filesystem::path path_;
};

TEST(actors_command, asks_the_default_port_of_this_machine) {
  const auto found = find_listener({}, no_variable);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->at.host, "127.0.0.1");
  EXPECT_EQ(found->at.port, 9100);
  EXPECT_TRUE(found->token.empty());
}

TEST(actors_command, takes_the_token_of_a_url_from_the_environment) {
  const auto found = find_listener(at("http://db.example:9200"), every_variable);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->at.host, "db.example");
  EXPECT_EQ(found->at.port, 9200);
  EXPECT_EQ(found->token.reveal(), "value of CDC_ACTORS_TOKEN");
}

TEST(actors_command, refuses_a_url_that_is_none) {
  EXPECT_EQ(find_listener(at("https://db"), no_variable).error().code, errc::invalid_config);
}

TEST(actors_command, asks_where_the_file_says_that_the_process_listens) {
  const written_config file{"[metrics]\nbind = \"0.0.0.0:9300\"\ntoken_env = \"PATH\"\n"};

  const auto found = find_listener(file.options(), no_variable);

  ASSERT_TRUE(found) << found.error().detail;
  EXPECT_EQ(found->at.host, "127.0.0.1") << "no one can connect to every address";
  EXPECT_EQ(found->at.port, 9300);
  EXPECT_FALSE(found->token.empty());
}

TEST(actors_command, says_that_nothing_listens_where_metrics_are_off) {
  const written_config file{"[metrics]\nenabled = false\n"};

  const auto found = find_listener(file.options(), no_variable);

  ASSERT_FALSE(found);
  EXPECT_NE(found.error().detail.find("metrics.enabled is false"), std::string::npos);
}

} // namespace
} // namespace cdc::cli
