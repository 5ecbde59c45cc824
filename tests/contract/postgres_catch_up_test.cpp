#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
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

/// A shape in words, without its generation: that counts what one reader happened to see.
std::string shape_text(const relation& of) {
  auto out = to_string(of.table) + " " + static_cast<char>(of.identity);
  for (const auto& each : of.columns)
    out += " " + each.name + "/" + std::to_string(each.attribute) + "/" +
           std::to_string(each.type_oid) + "/" + std::string{to_string(each.what)};
  for (const auto at : of.key)
    out += " key " + std::to_string(at);
  return out;
}

/// Every event but the positions between transactions, rows with the shapes they are read by.
text_lines event_lines(const std::vector<block_ptr>& blocks) {
  text_lines out;
  for (const auto& made : blocks)
    for (const auto& at : made->events) {
      if (at.what == operation::advance)
        continue;
      out.push_back(tests::event_text(*made, at));
      if (at.what != operation::begin && at.what != operation::commit)
        out.back() += " by " + shape_text(*made->relations[at.relation]);
    }
  return out;
}

/// The same log twice: from a walsender, and from copies of the slot.
struct postgres_catch_up : test::published_log {
  postgres_catch_up() : published_log("pub") {
    use_options.threshold = 1;
    use_options.rows_first = 10;
  }

  stream_request request() {
    return {.to = conninfo::make(db->source(), purpose::replication, "stream").value(),
            .slot = db->name(),
            .publications = {"pub"},
            .resume = resume,
            .system_identifier = db->value("SELECT system_identifier FROM pg_control_system()")};
  }
  catch_up_use use() {
    return {conninfo::make(db->source(), purpose::query, "catch up").value(), use_options, record};
  }

  stream_reader streaming() { return {*db, make_log_stream(request(), {}), {"pub"}}; }
  stream_reader pulling(stream_options options = {}) {
    return {*db, make_log_stream(request(), {}, nullptr, options, use()), {"pub"}};
  }

  /// Reads up to `until`; `modes` gets the ways it was read in.
  bool run(stream_reader& from, position until) {
    return from.run_until(
        [&] {
          const auto pulls = from->reading().how == log_reading::mode::catch_up;
          if (const std::string now = pulls ? "pull " : "stream "; now != last_mode)
            modes += last_mode = now;
          return from.passed >= until;
        },
        60s);
  }

  text_lines lines_of(stream_reader& from, position until) {
    EXPECT_TRUE(run(from, until)) << (from.failed ? from.failed->detail : "too slow");
    return from.taken();
  }

  text_lines events_of(stream_reader from, position until) {
    modes.clear();
    last_mode.clear();
    from.keeps_lines = false;
    from.keeps_blocks = true;
    EXPECT_TRUE(run(from, until)) << (from.failed ? from.failed->detail : "too slow");
    from->close();
    EXPECT_TRUE(
        await("SELECT count(*) = 0 FROM pg_replication_slots WHERE active AND database = '" +
              db->name() + "'"));
    return event_lines(from.blocks);
  }

  /// The log up to now is the same either way, event by event.
  void expect_same(stream_options options = {}) {
    const auto until = mark();
    const auto streamed = events_of(streaming(), until);
    const auto pulled = events_of(pulling(options), until);
    EXPECT_EQ(modes.substr(0, 12), "stream pull ") << record->reason(clock::now());
    ASSERT_EQ(pulled.size(), streamed.size());
    for (std::size_t i = 0; i < pulled.size(); ++i)
      ASSERT_EQ(pulled[i], streamed[i]) << "event " << i;
  }

  bool copy_is_gone() {
    return await("SELECT count(*) = 0 FROM pg_replication_slots WHERE slot_name = '" +
                 copy_name(db->name()) + "'");
  }

  catch_up_options use_options;
  std::shared_ptr<catch_up_record> record = std::make_shared<catch_up_record>();
  std::string modes;
  std::string last_mode;
};

// -- going over -----------------------------------------------------------------------------------

TEST_F(postgres_catch_up, brings_a_backlog_and_goes_over_to_the_stream) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  for (int i = 0; i < 40; ++i)
    db->sql("INSERT INTO t SELECT g, 'x' FROM generate_series(" + std::to_string(i * 5) + ", " +
            std::to_string(i * 5 + 4) + ") g");
  auto stream = pulling();
  EXPECT_EQ(lines_of(stream, mark()).size(), 40u * 7);
  EXPECT_EQ(modes.substr(0, 12), "stream pull ") << record->reason(clock::now());
  EXPECT_TRUE(stream.run_until([&] { return stream->reading().how == log_reading::mode::stream; }));
  EXPECT_TRUE(copy_is_gone());
  db->sql("INSERT INTO t VALUES (1000, 'y')");
  EXPECT_EQ(lines_of(stream, mark()), (text_lines{"begin", "insert public.t [1000|y]", "commit"}));
}

TEST_F(postgres_catch_up, leaves_a_small_backlog_to_the_stream) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  db->sql("INSERT INTO t VALUES (1)");
  use_options.threshold = 1 << 20;
  auto stream = pulling();
  EXPECT_EQ(lines_of(stream, mark()).size(), 3u);
  EXPECT_EQ(modes, "stream ");
}

TEST_F(postgres_catch_up, goes_over_while_a_stream_runs_and_loses_nothing_on_the_way) {
  prepare("CREATE TABLE t (id bigserial PRIMARY KEY, v text)");
  use_options.look_interval = 1ms;
  use_options.look_interval_max = 5ms;
  stream_options options;
  options.limits.events = 10;
  auto stream = pulling(options);
  stream.keeps_lines = false;
  stream.keeps_blocks = true;
  position until;
  for (int round = 1; round <= 3; ++round) {
    EXPECT_TRUE(stream.run_until([&] {
      return stream.passed > position{} && stream->reading().how == log_reading::mode::stream;
    }));
    for (int i = 0; i < 40; ++i)
      db->sql("INSERT INTO t (v) SELECT repeat('x', 500) FROM generate_series(1, 1000)");
    until = mark();
    // A reader so slow that the log would take it far more than ten seconds.
    EXPECT_TRUE(stream.run_until([&] {
      std::this_thread::sleep_for(10ms);
      return stream->reading().how == log_reading::mode::catch_up;
    })) << "round "
        << round << ": " << record->reason(clock::now());
    EXPECT_TRUE(stream.run_until(until)) << (stream.failed ? stream.failed->detail : "too slow");
  }
  stream->close();
  EXPECT_TRUE(await("SELECT count(*) = 0 FROM pg_replication_slots WHERE active AND database = '" +
                    db->name() + "'"));
  EXPECT_EQ(event_lines(stream.blocks), events_of(streaming(), until));
}

// -- the same log ---------------------------------------------------------------------------------

TEST_F(postgres_catch_up, brings_what_the_stream_brings) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, n int, large text);"
          "ALTER TABLE t ALTER large SET STORAGE EXTERNAL;"
          "CREATE TABLE f (id int, v text); ALTER TABLE f REPLICA IDENTITY FULL;"
          "CREATE TABLE p (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);"
          "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
          "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)");
  db->sql("INSERT INTO t VALUES (1, 1, repeat('x', 10000)), (2, 2, NULL)");
  db->sql("UPDATE t SET n = n + 1");
  db->sql("UPDATE t SET id = id + 10");
  db->sql("INSERT INTO f VALUES (1, 'a'); UPDATE f SET v = 'b'; DELETE FROM f");
  db->sql("INSERT INTO p VALUES (1, 'a'), (11, 'b'); UPDATE p SET id = 12 WHERE id = 1");
  db->sql("BEGIN; INSERT INTO t VALUES (3, 3, ''); SAVEPOINT a; INSERT INTO t VALUES (4, 4, '');"
          " ROLLBACK TO a; INSERT INTO t VALUES (5, 5, ''); SAVEPOINT b; UPDATE t SET n = 0;"
          " RELEASE b; COMMIT");
  db->sql("BEGIN; INSERT INTO t VALUES (6, 6, ''); ROLLBACK");
  db->sql("BEGIN; INSERT INTO t VALUES (7, 7, ''); PREPARE TRANSACTION '" + db->name() + "'");
  db->sql("INSERT INTO t VALUES (8, 8, '')");
  db->sql("COMMIT PREPARED '" + db->name() + "'");
  db->sql(
      "SELECT pg_logical_emit_message(true, 'm', 'in'), pg_logical_emit_message(false, 'm', 'x')");
  db->sql("TRUNCATE t, f");
  db->sql("ALTER TABLE t ADD extra numeric DEFAULT 1.5; INSERT INTO t VALUES (9, 9, 'nine')");
  db->sql("ALTER TABLE t DROP n; INSERT INTO t VALUES (10, 'ten'); ALTER TABLE t RENAME TO moved");
  db->sql("INSERT INTO moved VALUES (11, 'eleven')");
  for (const auto rows : {1u, 3u, 1000u}) {
    use_options.rows_first = rows;
    expect_same();
  }
}

TEST_F(postgres_catch_up, begins_where_it_is_told_to_though_the_slot_is_further_back) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  std::vector<position> ends;
  for (int i = 0; i < 12; ++i) {
    db->sql("INSERT INTO t VALUES (" + std::to_string(i) + ")");
    ends.push_back(mark());
  }
  auto first = streaming();
  first.keeps_lines = false;
  first.keeps_blocks = true;
  ASSERT_TRUE(run(first, ends.back()));
  first->close();
  for (const auto& made : first.blocks)
    for (const auto& at : made->events)
      if (at.what == operation::commit)
        ends.push_back(made->transactions[at.first].end);
  EXPECT_EQ(ends.size(), 24u);
  for (const auto end : ends) {
    if (end == ends[11])
      continue; // Nothing is behind it.
    resume = end;
    expect_same();
  }
}

TEST_F(postgres_catch_up, reads_a_thousand_tables) {
  prepare("SELECT format('CREATE TABLE t%s (id int PRIMARY KEY, v text)', i)"
          " FROM generate_series(0, 0) i");
  for (int i = 0; i < 1000; i += 100)
    db->sql("DO $$ BEGIN FOR i IN " + std::to_string(i) + " .. " + std::to_string(i + 99) +
            " LOOP EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, v text)', i);"
            " END LOOP; END $$");
  for (int round = 0; round < 3; ++round)
    db->sql("DO $$ BEGIN FOR i IN 0 .. 999 LOOP EXECUTE format('INSERT INTO t%s VALUES (" +
            std::to_string(round) + ", $x$v$x$)', i); END LOOP; END $$");
  use_options.rows_first = 1000;
  expect_same();
}

TEST_F(postgres_catch_up, reads_one_large_transaction_in_one_call) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  db->sql("INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 200000) i");
  expect_same();
}

TEST_F(postgres_catch_up, passes_a_log_that_brings_no_row) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  for (int i = 0; i < 20; ++i)
    db->sql("BEGIN; INSERT INTO t VALUES (1, repeat('x', 10000)); ROLLBACK");
  db->sql("SELECT pg_logical_emit_message(true, 'm', 'flushes what was rolled back')");
  use_options.log_max = 1;
  const auto until = mark();
  auto stream = pulling();
  EXPECT_TRUE(run(stream, until)) << (stream.failed ? stream.failed->detail : modes);
  EXPECT_EQ(modes.substr(0, 12), "stream pull ");
  EXPECT_EQ(stream.taken(), text_lines{});
}

/// A random history of several sessions whose transactions are open at the same time.
class history {
public:
  history(postgres_database& db, unsigned seed)
      : db_(db), pick_(seed), columns_("c" + std::to_string(seed) + "_") {
    for (int i = 0; i < writers; ++i)
      writers_.push_back({db.session(), i});
  }

  static std::string tables() {
    std::string out;
    for (int i = 0; i < writers; ++i) {
      const auto n = std::to_string(i);
      out += "CREATE TABLE a" + n + " (id int PRIMARY KEY, n int, large text);" + "ALTER TABLE a" +
             n + " ALTER large SET STORAGE EXTERNAL;" + "CREATE TABLE f" + n +
             " (id int, v text); ALTER TABLE f" + n + " REPLICA IDENTITY FULL;";
    }
    for (int i = 0; i < shared; ++i)
      out += "CREATE TABLE s" + std::to_string(i) + " (id serial PRIMARY KEY, v text);";
    return out;
  }

  void write(int steps) {
    for (int i = 0; i < steps; ++i)
      step(writers_[below(writers)]);
    for (auto& each : writers_)
      if (each.is_open)
        run(each, "COMMIT");
  }

private:
  static constexpr int writers = 4;
  static constexpr int shared = 8;

  struct writer {
    connection on;
    int number;
    bool is_open = false;
    int savepoints = 0;
    int columns = 0;
  };

  int below(int n) { return static_cast<int>(pick_() % static_cast<unsigned>(n)); }
  void run(writer& by, const std::string& what) { postgres_database::sql_on(by.on, what); }

  void step(writer& by) {
    if (!by.is_open && below(3) != 0) {
      run(by, "BEGIN");
      by.is_open = true;
      by.savepoints = 0;
      return;
    }
    if (by.is_open && below(6) == 0)
      return end(by);
    if (by.is_open && below(8) == 0)
      return nest(by);
    change(by);
  }

  void end(writer& by) {
    by.is_open = false;
    const auto how = below(10);
    if (how == 0)
      return run(by, "ROLLBACK");
    if (how > 2)
      return run(by, "COMMIT");
    // Its locks stay until it is committed, so that happens before anybody wants them.
    const auto name = db_.name() + "_" + std::to_string(++names_);
    run(by, "PREPARE TRANSACTION '" + name + "'");
    if (how == 1)
      return (void)db_.sql("ROLLBACK PREPARED '" + name + "'");
    db_.sql("INSERT INTO s0 (v) VALUES ('between')");
    db_.sql("COMMIT PREPARED '" + name + "'");
  }

  void nest(writer& by) {
    if (by.savepoints == 0 || below(2) == 0)
      return run(by, "SAVEPOINT s" + std::to_string(++by.savepoints));
    const auto name = "s" + std::to_string(by.savepoints--);
    run(by, (below(2) == 0 ? "ROLLBACK TO " : "RELEASE ") + name);
  }

  void change(writer& by) {
    const auto n = std::to_string(by.number);
    const auto id = std::to_string(below(40));
    switch (below(15)) {
      case 0:
      case 1:
      case 2:
        return run(by, "INSERT INTO a" + n + " (id, n, large) VALUES (" + id + ", " + id +
                           ", repeat('x', " + std::to_string(below(4000)) +
                           ")) ON CONFLICT (id) DO UPDATE SET n = a" + n + ".n + 1");
      case 3:
      case 4:
        return run(by, "UPDATE a" + n + " SET n = n + 1 WHERE id % 7 = " + id + " % 7");
      case 5:
        return run(by, "UPDATE a" + n + " SET id = id + 1000 WHERE id = " + id +
                           " AND NOT EXISTS (SELECT FROM a" + n + " WHERE id = " + id + " + 1000)");
      case 6:
        return run(by, "DELETE FROM a" + n + " WHERE id = " + id);
      case 7:
        return run(by, "INSERT INTO f" + n + " VALUES (" + id + ", NULL), (" + id + ", 'v')");
      case 8:
        return run(by, "UPDATE f" + n + " SET v = 'w' WHERE id = " + id);
      case 9:
        return run(by, "DELETE FROM f" + n + " WHERE id = " + id);
      case 10:
        return run(by, "SELECT pg_logical_emit_message(" +
                           std::string{below(2) == 0 ? "true" : "false"} + ", 'm', 'text')");
      case 11:
        if (below(4) == 0)
          return run(by, "TRUNCATE a" + n + (below(2) == 0 ? ", f" + n : ""));
        [[fallthrough]];
      case 12:
        return run(by, "INSERT INTO s" + std::to_string(below(shared)) +
                           " (v) SELECT 'many' FROM generate_series(1, " +
                           std::to_string(1 + below(60)) + ")");
      case 13:
        if (below(3) == 0)
          return run(by, "ALTER TABLE f" + n + " ADD " + columns_ + std::to_string(++by.columns) +
                             " int DEFAULT " + id);
        [[fallthrough]];
      default:
        return run(by, "INSERT INTO s" + std::to_string(below(shared)) + " (v) VALUES ('one')");
    }
  }

  postgres_database& db_;
  std::mt19937 pick_;
  std::string columns_;
  std::vector<writer> writers_;
  int names_ = 0;
};

TEST_F(postgres_catch_up, brings_any_history_as_the_stream_does_event_by_event) {
  prepare(history::tables());
  const auto* asked = std::getenv("CDC_TEST_SEED");
  const auto first = asked ? static_cast<unsigned>(std::stoul(asked)) : 1u;
  for (auto seed = first; seed < first + 4; ++seed) {
    SCOPED_TRACE("CDC_TEST_SEED=" + std::to_string(seed));
    history{*db, seed}.write(400);
    use_options.rows_first = std::vector<std::uint32_t>{1, 20, 300, 50'000}[seed % 4];
    use_options.log_max = seed % 2 == 0 ? std::uint64_t{1} << 30 : 20'000;
    stream_options options;
    options.limits.events = 1 + seed * 37 % 200;
    expect_same(options);
    if (HasFatalFailure())
      return;
  }
}

// -- positions ------------------------------------------------------------------------------------

TEST_F(postgres_catch_up, moves_the_slot_to_what_is_durable_and_nothing_else) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  std::vector<position> ends;
  for (int i = 0; i < 20; ++i)
    db->sql("INSERT INTO t VALUES (" + std::to_string(i) + ", repeat('x', 100000))");
  use_options.report_interval = 0ms;
  use_options.rows_first = 3;
  const auto began = confirmed();
  auto stream = pulling();
  stream.keeps_lines = false;
  ASSERT_TRUE(stream.run_until([&] { return stream.rows >= 5; }));
  EXPECT_EQ(confirmed(), began) << "nothing was confirmed";
  const auto durable = stream.passed;
  stream->confirm(durable);
  ASSERT_TRUE(stream.run_until([&] { return stream.rows >= 10; }));
  EXPECT_EQ(stream->reading().how, log_reading::mode::catch_up);
  EXPECT_EQ(confirmed(), durable);
}

TEST_F(postgres_catch_up, says_on_closing_what_became_durable) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  for (int i = 0; i < 20; ++i)
    db->sql("INSERT INTO t VALUES (" + std::to_string(i) + ", repeat('x', 100000))");
  use_options.rows_first = 3;
  auto stream = pulling();
  stream.keeps_lines = false;
  ASSERT_TRUE(stream.run_until([&] { return stream.rows >= 5; }));
  stream->confirm(stream.passed);
  const auto asked_at = clock::now();
  stream->close();
  EXPECT_LT(clock::now() - asked_at, 1s);
  EXPECT_EQ(confirmed(), stream.passed);
  EXPECT_TRUE(copy_is_gone());
}

TEST_F(postgres_catch_up, answers_where_the_log_ends_when_it_is_asked) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  for (int i = 0; i < 20; ++i)
    db->sql("INSERT INTO t VALUES (" + std::to_string(i) + ")");
  const auto end = mark();
  auto stream = pulling();
  stream->ask_for_position();
  EXPECT_TRUE(run(stream, end));
}

// -- what goes wrong ------------------------------------------------------------------------------

TEST_F(postgres_catch_up, reads_nothing_without_credit_and_keeps_its_connection) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  db->sql("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i");
  auto stream = pulling();
  stream.keeps_lines = false;
  ASSERT_TRUE(stream.run_until([&] { return stream.rows > 0; }));
  stream.may_read = false;
  stream.run_for(3s);
  ASSERT_FALSE(stream.failed) << stream.failed->detail;
  const auto before = stream.rows;
  EXPECT_LT(before, 20000u);
  stream.may_read = true;
  EXPECT_TRUE(stream.run_until([&] { return stream.rows == 20000; }));
}

TEST_F(postgres_catch_up, fails_at_once_when_its_backend_is_ended_within_a_transaction) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  db->sql("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 50000) i");
  auto stream = pulling();
  stream.keeps_lines = false;
  ASSERT_TRUE(stream.run_until([&] { return stream.rows > 0; }));
  db->sql("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '" +
          copy_name(db->name()) + "'");
  EXPECT_TRUE(stream.run_until([&] { return stream.failed.has_value(); }, 5s));
  ASSERT_TRUE(stream.failed);
  EXPECT_EQ(stream.failed->code, errc::source_unavailable);
  EXPECT_TRUE(record->allowed(clock::now())) << "once is not always";
}

TEST_F(postgres_catch_up, goes_back_to_the_stream_when_a_call_takes_too_long) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  db->sql("INSERT INTO t SELECT i, 'x' FROM generate_series(1, 300000) i");
  use_options.first_row_within = 1ms;
  auto stream = pulling();
  stream.keeps_lines = false;
  EXPECT_TRUE(stream.run_until([&] { return stream.rows == 300000; }, 60s))
      << (stream.failed ? stream.failed->detail : "too slow");
  const auto news = stream->take_news();
  ASSERT_TRUE(news);
  EXPECT_NE(news->find("no answer within"), std::string::npos) << *news;
  EXPECT_FALSE(stream->take_news());
  EXPECT_FALSE(record->allowed(clock::now()));
  EXPECT_TRUE(copy_is_gone());
}

TEST_F(postgres_catch_up, names_who_reads_the_slot) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto first = streaming();
  first->ask_for_position();
  ASSERT_TRUE(first.run_until([&] { return first.passed > position{}; }));
  db->sql("INSERT INTO t VALUES (1)");
  auto second = pulling();
  EXPECT_TRUE(second.run_until([&] { return second.failed.has_value(); }));
  ASSERT_TRUE(second.failed);
  EXPECT_EQ(second.failed->code, errc::slot_in_use);
}

TEST_F(postgres_catch_up, refuses_a_slot_that_another_catches_up_from) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, v text)");
  db->sql("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i");
  auto first = pulling();
  first.keeps_lines = false;
  ASSERT_TRUE(first.run_until([&] { return first.rows > 0; }));
  auto second = pulling();
  EXPECT_TRUE(second.run_until([&] { return second.failed.has_value(); }));
  ASSERT_TRUE(second.failed);
  EXPECT_EQ(second.failed->code, errc::slot_in_use);
  EXPECT_EQ(second.rows, 0u);
  EXPECT_TRUE(first.run_until([&] { return first.rows == 20000; }));
}

TEST_F(postgres_catch_up, leaves_it_to_the_stream_to_say_that_the_slot_is_gone) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  db->sql("INSERT INTO t VALUES (1)");
  db->sql("SELECT pg_drop_replication_slot('" + db->name() + "')");
  auto stream = pulling();
  EXPECT_TRUE(stream.run_until([&] { return stream.failed.has_value(); }));
  ASSERT_TRUE(stream.failed);
  EXPECT_EQ(stream.failed->code, errc::position_lost);
}

} // namespace

} // namespace cdc::sources::postgres
