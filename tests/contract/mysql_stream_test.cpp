// The log of a real MariaDB and a real MySQL, read as the pipeline reads it.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/log_stream.hpp"
#include "sources/mysql/setup.hpp"
#include "tests/support/block_text.hpp"
#include "tests/support/mysql_database.hpp"

namespace cdc::sources::mysql {

namespace {

using namespace std::chrono_literals;
using lines_of = std::vector<std::string>;

/// A stream of all tables of one database, from where the log ended when it was made.
class followed {
public:
  explicit followed(test::mysql_database& db)
      : db_(db), source_(db.source()), catalogue_on_(db.session()), catalogue_(catalogue_on_) {
    config::sync_config all;
    all.key = "all";
    all.is_pattern = true;
    all.tables = {db.name() + ".*"};
    sections_ = {all};
    prepared_ =
        prepare_source({.source = source_, .sections = sections_, .resumes = {}, .stop = {}})
            .value();
    open(prepared_.start);
  }

  void open(position from) {
    std::vector<relation_ptr> known;
    for (const auto& each : prepared_.tables)
      known.push_back(each.shape);
    stream_ = make_log_stream(
        {.to = endpoint::make(source_, "stream").value(),
         .server_id = 4242,
         .from = {.at = prepared_.at,
                  .resume = from,
                  .takes = [name = db_.name()](const table_id& t) { return t.schema == name; }}},
        known);
  }

  position mark() {
    auto on = db_.session();
    const auto end = read_log(on).value().end;
    return prepared_.at.token(end.file, end.offset).value();
  }

  /// Everything that was committed until now, without positions and the database's name.
  lines_of read() {
    run_until([this, until = mark()] { return passed >= until; });
    lines_of out;
    const auto prefix = db_.name() + ".";
    for (auto& line : std::exchange(lines, {})) {
      if (const auto at = line.find(prefix); at != std::string::npos)
        line.erase(at, prefix.size());
      if (line.starts_with("begin ") || line.starts_with("commit "))
        out.push_back(line.substr(0, line.find(' ')));
      else if (!line.starts_with("advance "))
        out.push_back(line);
    }
    return out;
  }

  void run_until(const std::function<bool()>& enough) {
    const auto until = clock::now() + 20s;
    while (!failed && !enough() && clock::now() < until)
      step();
    if (!failed)
      EXPECT_TRUE(enough());
    else if (fails_test)
      ADD_FAILURE() << failed->detail;
  }

  void step() {
    stream_->ask_for_position();
    const auto did = stream_->advance(clock::now(), may_read);
    if (!did) {
      failed = did.error();
      return;
    }
    if (const auto oid = stream_->unknown_relation()) {
      ++looked_up;
      stream_->provide(catalogue_.describe(*oid).value());
      return;
    }
    if (*did == log_stream::next::ship)
      return take(stream_->take_block());
    pollfd on{.fd = stream_->socket(), .events = stream_->wants_events(may_read), .revents = 0};
    (void)::poll(&on, 1, 50);
  }

  void take(const block_ptr& made) {
    const auto more = tests::lines(made);
    lines.insert(lines.end(), more.begin(), more.end());
    for (const auto& at : made->events)
      if (at.what == operation::commit || at.what == operation::advance)
        passed = std::max(passed, made->transactions[at.first].end);
  }

  bool may_read = true;
  bool fails_test = true;
  std::size_t looked_up = 0;
  lines_of lines;
  position passed;
  std::optional<error> failed;

private:
  test::mysql_database& db_;
  config::source_config source_;
  std::vector<config::sync_config> sections_;
  connection catalogue_on_;
  catalogue catalogue_;
  prepared_source prepared_;
  std::unique_ptr<log_stream> stream_;
};

class mysql_stream : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    const auto url = test::mysql_server(GetParam());
    if (!url)
      GTEST_SKIP() << GetParam() << " is not set";
    db.emplace(*url);
  }

  std::optional<test::mysql_database> db;
};

} // namespace

TEST_P(mysql_stream, brings_rows_in_transactions) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY, v varchar(20), n int)");
  followed log{*db};
  db->sql("INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', 7)");
  db->sql("UPDATE t SET v = 'c' WHERE id = 1");
  db->sql("UPDATE t SET id = 3 WHERE id = 2");
  db->sql("DELETE FROM t WHERE id = 1");
  db->sql("TRUNCATE TABLE t");

  EXPECT_EQ(log.read(),
            (lines_of{"begin", "insert t [1|a|null]", "insert t [2|b|7]", "commit", "begin",
                      "update t full [1|a|null] -> [1|c|null]", "commit", "begin",
                      "update t full [2|b|7] -> [3|b|7]", "commit", "begin",
                      "delete t full [1|c|null]", "commit", "begin", "truncate t", "commit"}));
  EXPECT_EQ(log.looked_up, 0u);
}

TEST_P(mysql_stream, resumes_behind_any_commit) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY)");
  followed log{*db};
  db->sql("INSERT INTO t VALUES (1)");
  (void)log.read();
  const auto from = log.passed;
  db->sql("INSERT INTO t VALUES (2)");
  db->sql("FLUSH BINARY LOGS");
  db->sql("INSERT INTO t VALUES (3)");
  const lines_of rest{"begin", "insert t [2]", "commit", "begin", "insert t [3]", "commit"};
  EXPECT_EQ(log.read(), rest);

  log.open(from);
  log.passed = from;
  EXPECT_EQ(log.read(), rest);
}

TEST_P(mysql_stream, reads_rows_by_the_shape_of_their_own_time) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(9))");
  followed log{*db};
  db->sql("INSERT INTO t VALUES (1, 2, 'x')");
  db->sql("ALTER TABLE t DROP COLUMN a, ADD COLUMN c int DEFAULT 5 FIRST");
  db->sql("INSERT INTO t (id, b) VALUES (2, 'y')");
  db->sql("ALTER TABLE t RENAME COLUMN b TO d");
  db->sql("INSERT INTO t (id, d) VALUES (3, 'z')");

  EXPECT_EQ(log.read(),
            (lines_of{"begin", "insert t [1|2|x]", "commit", "begin", "insert t [5|2|y]", "commit",
                      "begin", "insert t [5|3|z]", "commit"}));
}

TEST_P(mysql_stream, leaves_out_what_was_rolled_back_and_other_databases) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY)");
  followed log{*db};
  db->sql("BEGIN");
  db->sql("INSERT INTO t VALUES (1)");
  db->sql("ROLLBACK");
  db->sql("INSERT INTO t VALUES (2)");

  EXPECT_EQ(log.read(), (lines_of{"begin", "insert t [2]", "commit"}));
}

TEST_P(mysql_stream, halts_at_a_change_that_is_logged_as_a_statement) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY)");
  followed log{*db};
  log.fails_test = false;
  db->sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  db->sql("SET SESSION binlog_format = STATEMENT");
  db->sql("INSERT INTO t VALUES (1)");
  (void)log.read();

  ASSERT_TRUE(log.failed);
  EXPECT_EQ(log.failed->code, errc::source_misconfigured);
  EXPECT_NE(log.failed->detail.find("binlog_format = ROW"), std::string::npos);
  EXPECT_NE(log.failed->detail.find(db->name() + ".t"), std::string::npos);
}

TEST_P(mysql_stream, commits_a_table_without_transactions_at_the_statements_end) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY) ENGINE=MyISAM");
  followed log{*db};
  db->sql("INSERT INTO t VALUES (1), (2)");

  EXPECT_EQ(log.read(), (lines_of{"begin", "insert t [1]", "insert t [2]", "commit"}));
}

TEST_P(mysql_stream, reads_a_large_transaction_while_credit_comes_and_goes) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY, v varchar(200))");
  followed log{*db};
  std::string values;
  for (auto i = 0; i < 20'000; ++i)
    values += (i == 0 ? "(" : ",(") + std::to_string(i) + ",repeat('x',150))";
  db->sql("INSERT INTO t VALUES " + values);
  log.may_read = false;
  for (auto i = 0; i < 5; ++i)
    log.step();
  EXPECT_TRUE(log.lines.empty());
  log.may_read = true;
  const auto all = log.read();

  EXPECT_EQ(all.size(), 20'002u);
}

TEST_P(mysql_stream, does_not_start_beside_a_prepared_transaction) {
  db->sql("CREATE TABLE t (id int PRIMARY KEY)");
  db->sql("XA START 'a'");
  db->sql("INSERT INTO t VALUES (1)");
  db->sql("XA END 'a'");
  db->sql("XA PREPARE 'a'");
  config::sync_config all;
  all.key = "all";
  all.is_pattern = true;
  all.tables = {db->name() + ".*"};
  const std::vector sections{all};
  const auto strong = db->source(true);
  const auto first = prepare_source(
      {.source = strong, .sections = sections, .resumes = {std::nullopt}, .stop = {}});
  const auto later =
      prepare_source({.source = strong, .sections = sections, .resumes = {}, .stop = {}});
  db->sql("XA ROLLBACK 'a'");

  ASSERT_FALSE(first);
  EXPECT_NE(first.error().detail.find("XA RECOVER"), std::string::npos);
  EXPECT_TRUE(later) << later.error().detail;
}

INSTANTIATE_TEST_SUITE_P(servers, mysql_stream,
                         testing::Values("CDC_TEST_MARIADB", "CDC_TEST_MYSQL"),
                         [](const auto& which) {
                           return std::string{which.param}.substr(sizeof "CDC_TEST_" - 1);
                         });

} // namespace cdc::sources::mysql
