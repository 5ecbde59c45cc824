#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "config/config.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/conninfo.hpp"

namespace cdc::test {

/// The superuser's conninfo of the server that tests may use, or nothing.
inline std::optional<std::string> postgres_server() {
  const auto* text = std::getenv("CDC_TEST_POSTGRES");
  return text && *text ? std::optional<std::string>{text} : std::nullopt;
}

/// A database of a test's own on that server; dropped with its slots at the end.
class postgres_database {
public:
  postgres_database() : name_(unique_name()), server_(connect("postgres", "", "")) {
    sql_on(server_, "CREATE DATABASE " + name_);
    on_.emplace(session());
  }

  ~postgres_database() {
    on_.reset();
    (void)server_.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                      " WHERE datname = '" +
                          name_ + "'",
                      "end what is left");
    for (int i = 0; i < 100; ++i) {
      (void)server_.run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                        " WHERE database = '" +
                            name_ + "' AND NOT active",
                        "drop slots");
      if (server_.run("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)", "drop"))
        break;
      ::usleep(20'000);
    }
    for (const auto& role : roles_)
      (void)server_.run("DROP ROLE IF EXISTS " + role, "drop");
  }

  postgres_database(const postgres_database&) = delete;
  postgres_database& operator=(const postgres_database&) = delete;

  /// Runs statements; the last one's rows. Throws the server's error, which ends the test.
  sources::postgres::rows sql(const std::string& statements) { return sql_on(*on_, statements); }
  std::string value(const std::string& statement) { return std::string{sql(statement).text(0, 0)}; }

  static sources::postgres::rows sql_on(sources::postgres::connection& on,
                                        const std::string& statements) {
    auto done = on.run(statements, "run a test's statement");
    if (!done)
      throw std::runtime_error(done.error().detail + " in: " + statements);
    return std::move(*done);
  }

  /// Another session, in which unqualified names are those of `public`.
  sources::postgres::connection session() {
    auto on = plain_session();
    sql_on(on, "SET search_path = public");
    return on;
  }
  /// One as the program has it.
  sources::postgres::connection plain_session() { return connect(name_, "", ""); }

  /// A source that reads this database, with a slot and publication named after it.
  config::source_config source(const std::string& user = "", const std::string& password = "") {
    config::source_config out;
    out.name = "test";
    out.url = config::secret{conninfo_text(name_, user, password)};
    out.slot_name = name_;
    out.publication = name_ + "_pub";
    return out;
  }

  /// A role that may log in and nothing else; dropped at the end.
  std::string role(const std::string& suffix) {
    roles_.push_back(name_ + "_" + suffix);
    sql("CREATE ROLE " + roles_.back() + " LOGIN PASSWORD 'secret'");
    return roles_.back();
  }

  const std::string& name() const { return name_; }

private:
  static std::string unique_name() {
    static std::atomic<int> last{0};
    return "cdc_test_" + std::to_string(::getpid()) + "_" + std::to_string(++last);
  }

  // Later settings win, in URLs as in key=value texts.
  static std::string conninfo_text(const std::string& database, const std::string& user,
                                   const std::string& password) {
    auto text = postgres_server().value_or("");
    const auto is_url = text.find("://") != std::string::npos;
    const auto set = [&](const std::string& key, const std::string& value) {
      if (value.empty())
        return;
      if (is_url)
        text += (text.find('?') == std::string::npos ? "?" : "&") + key + "=" + value;
      else
        text += " " + key + "=" + value;
    };
    set("dbname", database);
    set("user", user);
    set("password", password);
    return text;
  }

  static sources::postgres::connection connect(const std::string& database, const std::string& user,
                                               const std::string& password) {
    config::source_config source;
    source.url = config::secret{conninfo_text(database, user, password)};
    const auto to =
        sources::postgres::conninfo::make(source, sources::postgres::purpose::query, "test");
    if (!to)
      throw std::runtime_error(to.error().detail);
    auto on = sources::postgres::connection::open(*to);
    if (!on)
      throw std::runtime_error(on.error().detail);
    return *std::move(on);
  }

  std::string name_;
  sources::postgres::connection server_;
  std::optional<sources::postgres::connection> on_;
  std::vector<std::string> roles_;
};

/// One setup for the tests that need a server: skipped by name without one.
#define CDC_NEEDS_POSTGRES()                                                                       \
  if (!cdc::test::postgres_server())                                                               \
  GTEST_SKIP() << "needs PostgreSQL: set CDC_TEST_POSTGRES to a superuser's conninfo"

} // namespace cdc::test
