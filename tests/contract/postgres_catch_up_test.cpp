#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sources/postgres/log_stream.hpp"
#include "sources/postgres/lsn.hpp"
#include "tests/support/postgres_database.hpp"
#include "tests/support/postgres_stream.hpp"

namespace cdc::sources::postgres {

namespace {

using namespace std::chrono_literals;
using test::postgres_database;
using test::stream_reader;
using text_lines = std::vector<std::string>;

/// The same log twice: from a walsender, and from copies of the slot.
struct postgres_catch_up : testing::Test {
  void SetUp() override {
    CDC_NEEDS_POSTGRES();
    db.emplace();
    options.threshold = 1;
    options.rows_first = 10;
  }

  void prepare(const std::string& tables) {
    db->sql(tables);
    db->sql("CREATE PUBLICATION pub FOR ALL TABLES WITH (publish_via_partition_root = true)");
    resume = parse_lsn(db->value("SELECT lsn FROM pg_create_logical_replication_slot('" +
                                 db->name() + "', 'pgoutput')"))
                 .value();
  }

  stream_request request() {
    return {.to = conninfo::make(db->source(), purpose::replication, "stream").value(),
            .slot = db->name(),
            .publications = {"pub"},
            .resume = resume,
            .system_identifier = db->value("SELECT system_identifier FROM pg_control_system()")};
  }
  catch_up_use use() {
    return {conninfo::make(db->source(), purpose::query, "catch up").value(), options, record};
  }

  stream_reader streaming() { return {*db, make_log_stream(request(), {}), {"pub"}}; }
  stream_reader pulling() {
    return {*db, make_log_stream(request(), {}, nullptr, {}, use()), {"pub"}};
  }

  position mark() {
    return parse_lsn(db->value("SELECT pg_logical_emit_message(false, 'until', '')")).value();
  }

  /// What one reader makes of the log up to `until`; `modes` gets the ways it was read in.
  text_lines lines_of(stream_reader& from, position until) {
    std::string last;
    EXPECT_TRUE(from.run_until(
        [&] {
          const auto now = from->reading().how == log_reading::mode::catch_up ? "pull " : "stream ";
          if (now != last)
            modes += last = now;
          return from.passed >= until;
        },
        60s))
        << (from.failed ? from.failed->detail : "too slow");
    return from.taken();
  }

  /// The log up to now is the same either way.
  void expect_same() {
    const auto until = mark();
    auto first = streaming();
    const auto streamed = lines_of(first, until);
    first->close();
    modes.clear();
    auto second = pulling();
    const auto pulled = lines_of(second, until);
    second->close();
    EXPECT_EQ(pulled, streamed);
    EXPECT_NE(modes.find("pull"), std::string::npos) << record->reason(clock::now());
  }

  bool await(const std::string& question) {
    for (int i = 0; i < 1000; ++i) {
      if (db->value(question) == "t")
        return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  std::optional<postgres_database> db;
  catch_up_options options;
  std::shared_ptr<catch_up_record> record = std::make_shared<catch_up_record>();
  position resume;
  std::string modes;
};

TEST_F(postgres_catch_up, brings_a_backlog_and_goes_over_to_the_stream) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  for (int i = 0; i < 40; ++i)
    db->sql("INSERT INTO t SELECT g, 'x' FROM generate_series(" + std::to_string(i * 5) + ", " +
            std::to_string(i * 5 + 4) + ") g");
  auto stream = pulling();
  const auto got = lines_of(stream, mark());
  EXPECT_EQ(got.size(), 40u * 7);
  EXPECT_EQ(modes, "stream pull ") << record->reason(clock::now());
  db->sql("INSERT INTO t VALUES (1000, 'y')");
  EXPECT_EQ(lines_of(stream, mark()), (text_lines{"begin", "insert public.t [1000|y]", "commit"}));
  EXPECT_EQ(modes, "stream pull stream ");
}

} // namespace

} // namespace cdc::sources::postgres
