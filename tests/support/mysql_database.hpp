#pragma once

#include <atomic>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "config/config.hpp"
#include "sources/mysql/connection.hpp"

namespace cdc::test {

/// The URL of a user who may do everything, from CDC_TEST_MARIADB or CDC_TEST_MYSQL, or nothing.
inline std::optional<std::string> mysql_server(const char* variable) {
  const auto* text = std::getenv(variable);
  return text && *text ? std::optional<std::string>{text} : std::nullopt;
}

/// A database of a test's own on that server; dropped at the end.
class mysql_database {
public:
  explicit mysql_database(std::string url)
      : url_(std::move(url)), name_(unique_name()), server_(session("")) {
    sql_on(server_, "CREATE DATABASE " + name_);
    on_.emplace(session(name_));
  }

  ~mysql_database() {
    on_.reset();
    (void)server_.run("DROP DATABASE IF EXISTS " + name_, "drop");
  }

  mysql_database(const mysql_database&) = delete;
  mysql_database& operator=(const mysql_database&) = delete;

  /// Runs a statement. Throws the server's error, which ends the test.
  sources::mysql::rows sql(const std::string& statement) { return sql_on(*on_, statement); }
  std::string value(const std::string& statement) { return std::string{sql(statement).text(0, 0)}; }

  static sources::mysql::rows sql_on(sources::mysql::connection& on, const std::string& statement) {
    auto done = on.query(statement, "run a test's statement");
    if (!done)
      throw std::runtime_error(done.error().detail + " in: " + statement);
    return std::move(*done);
  }

  /// Another session of the strong user.
  sources::mysql::connection session() { return session(name_); }

  /// A source that reads this server, as the strong user or as `cdc`, who may read and be a replica.
  config::source_config source(bool is_strong = false) const {
    config::source_config out;
    out.what = config::source_config::flavor::mysql;
    out.name = "test";
    auto text = url_;
    if (const auto user = text.find("//app:"); !is_strong && user != std::string::npos)
      text.replace(user, 6, "//cdc:");
    out.url = config::secret{text};
    return out;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_mariadb() const { return server_.version().is_mariadb; }

private:
  static std::string unique_name() {
    static std::atomic<int> last{0};
    return "cdc_test_" + std::to_string(::getpid()) + "_" + std::to_string(++last);
  }

  sources::mysql::connection session(const std::string& database) const {
    config::source_config source;
    source.url = config::secret{url_};
    auto to = sources::mysql::endpoint::make(source, "test");
    if (!to)
      throw std::runtime_error(to.error().detail);
    to->database = database;
    auto on = sources::mysql::connection::open(*to);
    if (!on)
      throw std::runtime_error(on.error().detail);
    return *std::move(on);
  }

  std::string url_;
  std::string name_;
  sources::mysql::connection server_;
  std::optional<sources::mysql::connection> on_;
};

/// For suites that run on each of the two products: the variable that names its server.
inline std::string product_of(const testing::TestParamInfo<const char*>& which) {
  return std::string{which.param} == "CDC_TEST_MARIADB" ? "mariadb" : "mysql";
}

#define CDC_ON_MARIADB_AND_MYSQL(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(on, suite, testing::Values("CDC_TEST_MARIADB", "CDC_TEST_MYSQL"),       \
                           cdc::test::product_of)

/// One setup for the tests that need a server: skipped by name without one.
#define CDC_NEEDS_MYSQL(variable)                                                                  \
  if (!cdc::test::mysql_server(variable))                                                          \
  GTEST_SKIP() << "needs a server: set " << (variable) << " to the URL of a user with every right"

} // namespace cdc::test
