#include "tests/support/postgres_stream.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sources/postgres/copy_text.hpp"
#include "sources/postgres/log_stream.hpp"
#include "sources/postgres/lsn.hpp"
#include "tests/support/postgres_database.hpp"

namespace cdc::sources::postgres {

namespace {

using namespace std::chrono_literals;
using test::postgres_database;
using test::stream_reader;
using text_lines = std::vector<std::string>;

/// Keeps a column's large values out of its rows, uncompressed.
std::string external(const std::string& column) {
  return "ALTER TABLE t ALTER " + column + " SET STORAGE EXTERNAL";
}

/// How a log is read.
enum class mode : std::uint8_t {
  walsender,
  catch_up, ///< From copies of the slot, in small calls, at every chance.
};

struct log_readers : test::published_log {
  log_readers() : published_log("Its Pub") {}

  stream_request request(const std::string& more = "") {
    more_ = more;
    return {.to = conninfo::make(source(), purpose::replication, "stream").value(),
            .slot = db->name(),
            .publications = {"Its Pub"},
            .resume = resume,
            .system_identifier = {}};
  }

  stream_reader reader(stream_request from, stream_options options = {},
                       std::shared_ptr<patience> allowed = nullptr) {
    std::optional<catch_up_use> use;
    if (how == mode::catch_up)
      use.emplace(catch_up_use{
          conninfo::make(source(), purpose::query, "catch up").value(),
          {.threshold = 1, .look_interval = 1ms, .look_interval_max = 5ms, .rows_first = 10},
          std::make_shared<catch_up_record>()});
    return {*db,
            make_log_stream(std::move(from), {}, std::move(allowed), options, std::move(use)),
            {"Its Pub"}};
  }
  stream_reader reader() { return reader(request()); }

  /// Everything that was committed until now, row by row.
  text_lines changes(stream_reader& from) {
    EXPECT_TRUE(from.run_until(mark())) << (from.failed ? from.failed->detail : "too slow");
    EXPECT_EQ(from.has_caught_up, how == mode::catch_up);
    return from.taken();
  }

  /// Until the server has answered something.
  bool runs(stream_reader& from) {
    from->ask_for_position();
    return from.run_until([&] { return from.passed > position{}; });
  }

  /// Why a stream does not come about, or ends.
  error failure(stream_reader& from, std::chrono::milliseconds within = 20s) {
    (void)from.run_until([&] { return from.failed.has_value(); }, within);
    EXPECT_TRUE(from.failed) << "nothing failed";
    return from.failed.value_or(error{});
  }

  mode how = mode::walsender;

private:
  config::source_config source() {
    auto out = db->source();
    if (more_.empty())
      return out;
    const std::string url{out.url.reveal()};
    const auto* joint = url.find("://") == url.npos ? " " : url.find('?') == url.npos ? "?" : "&";
    out.url = config::secret{url + joint + more_};
    return out;
  }

  std::string more_; ///< Parameters of every connection.
};

/// What holds however the log is read.
struct postgres_stream : log_readers, testing::WithParamInterface<mode> {
  postgres_stream() { how = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(by, postgres_stream, testing::Values(mode::walsender, mode::catch_up),
                         [](const auto& each) {
                           return each.param == mode::walsender ? "walsender" : "catch_up";
                         });

/// What is about a walsender's own connection.
struct postgres_walsender : log_readers {};

// -- rows -----------------------------------------------------------------------------------------

TEST_P(postgres_stream, brings_the_changes_of_several_tables_as_they_were_made) {
  prepare("CREATE TABLE orders (id int PRIMARY KEY, note text);"
          "CREATE TABLE \"Odd Name\" (\"a\"\"b\" text PRIMARY KEY, n numeric)");
  auto stream = reader();
  db->sql("INSERT INTO orders VALUES (1, 'a'), (2, NULL)");
  db->sql("BEGIN; UPDATE orders SET note = 'b' WHERE id = 1; UPDATE orders SET id = 3 WHERE id = 2;"
          " INSERT INTO \"Odd Name\" VALUES ('k', 1.50); DELETE FROM orders WHERE id = 1; COMMIT");
  EXPECT_EQ(changes(stream),
            (text_lines{"begin", "insert public.orders [1|a]", "insert public.orders [2|null]",
                        "commit", "begin", "update public.orders [1|b]",
                        "update public.orders key [2|null] -> [3|null]",
                        "insert public.Odd Name [k|1.50]", "delete public.orders key [1|null]",
                        "commit"}));
  if (how == mode::walsender)
    EXPECT_EQ(stream.looked_up, 2u);
}

TEST_P(postgres_stream, leaves_large_values_that_did_not_change_absent) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, n int, large text);" + external("large"));
  auto stream = reader();
  db->sql("INSERT INTO t VALUES (1, 1, repeat('x', 10000))");
  EXPECT_EQ(changes(stream).at(1), "insert public.t [1|1|" + std::string(10000, 'x') + "]");
  db->sql("UPDATE t SET n = 2");
  EXPECT_EQ(changes(stream).at(1), "update public.t [1|2|absent] partial");
}

TEST_P(postgres_stream, completes_a_row_under_a_full_identity) {
  prepare("CREATE TABLE t (id int, n int, large text); ALTER TABLE t REPLICA IDENTITY FULL;" +
          external("large"));
  auto stream = reader();
  db->sql("INSERT INTO t VALUES (1, 1, repeat('x', 5000)); UPDATE t SET n = 2; DELETE FROM t");
  const std::string large(5000, 'x');
  EXPECT_EQ(changes(stream),
            (text_lines{"begin", "insert public.t [1|1|" + large + "]",
                        "update public.t full [1|1|" + large + "] -> [1|2|" + large + "]",
                        "delete public.t full [1|2|" + large + "]", "commit"}));
}

TEST_P(postgres_stream, knows_a_large_key_that_did_not_change) {
  prepare("CREATE TABLE t (k text PRIMARY KEY, n int);" + external("k"));
  auto stream = reader();
  db->sql("INSERT INTO t VALUES (repeat('k', 2600), 1); UPDATE t SET n = 2");
  const std::string key(2600, 'k');
  const auto got = changes(stream);
  EXPECT_EQ(got.at(2), "update public.t key [" + key + "|null] -> [" + key + "|2]");
}

TEST_P(postgres_stream, truncates_in_the_order_of_the_statement_with_what_hangs_on_it) {
  prepare("CREATE TABLE a (id int PRIMARY KEY);"
          "CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a);"
          "CREATE TABLE c (id int PRIMARY KEY)");
  auto stream = reader();
  db->sql("INSERT INTO a VALUES (1); TRUNCATE c, a RESTART IDENTITY CASCADE");
  EXPECT_EQ(changes(stream), (text_lines{"begin", "insert public.a [1]", "truncate public.c",
                                         "truncate public.a", "truncate public.b", "commit"}));
}

TEST_P(postgres_stream, brings_the_rows_of_partitions_under_their_root) {
  prepare("CREATE TABLE root (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);"
          "CREATE TABLE low PARTITION OF root FOR VALUES FROM (0) TO (10);"
          "CREATE TABLE high (n int, id int NOT NULL);"
          "ALTER TABLE root ATTACH PARTITION high FOR VALUES FROM (10) TO (20)");
  auto stream = reader();
  db->sql("INSERT INTO root VALUES (1, 1), (11, 2); UPDATE root SET n = 3 WHERE id = 11;"
          " UPDATE root SET id = 12 WHERE id = 1; DELETE FROM root WHERE id = 11");
  EXPECT_EQ(
      changes(stream),
      (text_lines{"begin", "insert public.root [1|1]", "insert public.root [11|2]",
                  "update public.root [11|3]", "delete public.root key [1|null]",
                  "insert public.root [12|1]", "delete public.root key [11|null]", "commit"}));
  if (how == mode::walsender)
    EXPECT_EQ(stream.looked_up, 2u) << "the root once for each partition, its partitions never";
}

TEST_P(postgres_stream, reads_each_row_by_the_shape_its_table_had) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, n int)");
  auto stream = reader();
  stream.keeps_blocks = true;
  db->sql("INSERT INTO t VALUES (1, 1)");
  db->sql("CREATE TYPE mood AS ENUM ('fine'); CREATE DOMAIN small AS int CHECK (VALUE < 10)");
  db->sql("ALTER TABLE t ADD m mood DEFAULT 'fine', ADD s small");
  db->sql("INSERT INTO t VALUES (2, 2, 'fine', 3)");
  db->sql("BEGIN; ALTER TABLE t DROP n; ALTER TABLE t ADD n text; INSERT INTO t VALUES (3, 'fine',"
          " 4, 'now text'); ALTER TABLE t RENAME TO moved; COMMIT");
  db->sql("INSERT INTO moved VALUES (4, 'fine', 5, 'x')");
  db->sql("ALTER TABLE moved RENAME TO t");
  db->sql("INSERT INTO t VALUES (5, 'fine', 6, 'x')");
  EXPECT_EQ(changes(stream), (text_lines{"begin", "insert public.t [1|1]", "commit", "begin",
                                         "insert public.t [2|2|fine|3]", "commit", "begin",
                                         "insert public.t [3|fine|4|now text]", "commit", "begin",
                                         "insert public.moved [4|fine|5|x]", "commit", "begin",
                                         "insert public.t [5|fine|6|x]", "commit"}));

  std::vector<relation_ptr> shapes;
  for (const auto& made : stream.blocks)
    shapes.insert(shapes.end(), made->relations.begin(), made->relations.end());
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  ASSERT_EQ(shapes.size(), 5u);
  for (std::size_t i = 1; i < shapes.size(); ++i)
    EXPECT_LT(shapes[i - 1]->generation, shapes[i]->generation);
  for (const auto& shape : shapes)
    EXPECT_EQ(shape->key, (std::vector<std::uint16_t>{0}));
  const auto& last = shapes.back()->columns;
  EXPECT_EQ(last[1].what, kind::enumeration);
  EXPECT_EQ(last[2].what, kind::integer) << "a domain is what it stands on";
  EXPECT_EQ(last[3].attribute, 5) << "added again under its old name, it is another column";
}

TEST_P(postgres_stream, reads_the_last_rows_of_a_table_that_was_dropped_meanwhile) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, n int)");
  db->sql("INSERT INTO t VALUES (1, 1)");
  db->sql("DROP TABLE t");
  auto stream = reader();
  EXPECT_EQ(changes(stream), (text_lines{"begin", "insert public.t [1|1]", "commit"}));
}

TEST_P(postgres_stream, looks_again_at_a_table_the_server_repeats_without_a_new_shape) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, n int)");
  auto stream = reader();
  stream.keeps_blocks = true;
  db->sql("INSERT INTO t VALUES (1, 1)");
  db->sql("CREATE INDEX ON t (n)");
  db->sql("INSERT INTO t VALUES (2, 2)");
  EXPECT_EQ(changes(stream).size(), 6u);
  if (how == mode::walsender)
    EXPECT_EQ(stream.looked_up, 2u);
  const relation_ptr first = stream.blocks.front()->relations.front();
  for (const auto& made : stream.blocks)
    for (const auto& shape : made->relations)
      EXPECT_EQ(shape, first);
}

TEST_P(postgres_stream, brings_the_same_bytes_as_copy) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, a text, b bytea, c numeric, d timestamptz, e jsonb,"
          " f text[], g float8, h bool, i interval, j date, k bit(3), l money)");
  auto stream = reader();
  stream.keeps_blocks = true;
  db->sql(R"(INSERT INTO t VALUES
    (1, E'tab\t nl\n cr\r bs\b ff\f vt\v \\ \\N end', '\x00ff5c', 'NaN', '-infinity', '{"a":"\\n"}',
     ARRAY[E'a\tb', NULL, 'NULL', '"q"'], '-0', true, '1 mon -3 days 04:05:06.789', '0044-03-15 BC',
     '101', 12.34),
    (2, '', '', '-0.00', '2026-11-30 12:00:00.000001+05:30', 'null', '{}', 'Infinity', false,
     '-1 year', 'infinity', '000', -5),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, '\N', '\x5c', 12345678901234567890.123456789, '294276-12-31 23:59:59.999999+00', '"ü"',
     '{{1,2},{3,4}}', 0.1, NULL, '0', '5874897-12-31', '111', 0),
    (5, 'äöü €  ' || chr(127) || chr(1), '\x09', 0, '4713-01-01 00:00:00+00 BC', '[]', ARRAY[''],
     1e-300, true, '178000000 years', '2000-02-29', '010', 92233720368547758.07))");
  auto streamed = changes(stream);
  ASSERT_EQ(streamed.size(), 7u);

  block_pool pool;
  block_builder out{pool};
  auto on = db->plain_session();
  const auto shape = stream.blocks.front()->relations.front();
  ASSERT_TRUE(on.begin_copy(
      "COPY (SELECT " + column_list(*shape) + " FROM public.t ORDER BY id) TO STDOUT", "copy"));
  for (std::string_view row; on.copy_row(row).value();)
    ASSERT_TRUE(append_copy_row(out, shape, row));
  const auto copied = tests::lines(out.take());
  ASSERT_EQ(copied.size(), 5u);
  for (std::size_t i = 0; i < copied.size(); ++i)
    EXPECT_EQ(copied[i].substr(std::string{"row"}.size()),
              streamed[i + 1].substr(std::string{"insert"}.size()));
}

TEST_P(postgres_stream, brings_many_large_rows_over_tls_and_without) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, large text);" + external("large"));
  db->sql("INSERT INTO t SELECT i, repeat('x', i * 37) FROM generate_series(1, 1000) i");
  db->sql("INSERT INTO t VALUES (0, repeat('y', 20000000))");
  for (const auto* mode : {"sslmode=require", "sslmode=disable"}) {
    auto stream = reader(request(mode));
    stream.keeps_lines = false;
    const auto began = clock::now();
    EXPECT_TRUE(stream.run_until([&] { return stream.rows == 1001; })) << stream.rows;
    EXPECT_LT(clock::now() - began, 15s);
    stream->close();
    EXPECT_TRUE(await("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '" +
                      db->name() + "'"));
  }
}

// TLS hands over a record a read, and the server sends a record a row.
TEST_F(postgres_walsender, takes_all_that_has_come_at_once_over_tls_and_without) {
  prepare("CREATE TABLE t (id serial PRIMARY KEY, v text)");
  const auto active = "FROM pg_replication_slots WHERE slot_name = '" + db->name() + "'";
  for (const auto* mode : {"sslmode=require", "sslmode=disable"}) {
    auto stream = reader(request(mode));
    ASSERT_TRUE(runs(stream));
    stream.keeps_blocks = true;
    stream.may_read = false;
    db->sql("INSERT INTO t (v) SELECT 'v' FROM generate_series(1, 400)");
    ASSERT_TRUE(await("SELECT sent_lsn >= '" + to_lsn(log_end()) + "' FROM pg_stat_replication" +
                      " WHERE pid = (SELECT active_pid " + active + ")"));
    stream.may_read = true;
    EXPECT_TRUE(stream.run_until([&] { return stream.rows == 400; })) << stream.rows;
    EXPECT_LE(stream.blocks.size(), 4u) << mode;
    stream->confirm(stream.passed);
    stream->close();
    ASSERT_TRUE(await("SELECT NOT active " + active));
  }
}

// -- positions ------------------------------------------------------------------------------------

TEST_P(postgres_stream, passes_a_message_outside_a_transaction_at_once) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto stream = reader();
  ASSERT_TRUE(runs(stream));
  db->sql("SET synchronous_commit = local");
  const auto at = parse_lsn(db->value("SELECT pg_logical_emit_message(false, 'cdc', '')")).value();
  const auto began = clock::now();
  EXPECT_TRUE(stream.run_until(at));
  EXPECT_LT(clock::now() - began, 3s);
}

TEST_P(postgres_stream, answers_where_the_log_ends_when_it_is_asked) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto stream = reader();
  ASSERT_TRUE(runs(stream));
  for (int i = 0; i < 10; ++i) {
    const auto asked_at = clock::now();
    stream.lines.clear();
    stream->ask_for_position();
    EXPECT_TRUE(stream.run_until([&] { return !stream.lines.empty(); }));
    EXPECT_LT(clock::now() - asked_at, 500ms);
  }
}

TEST_P(postgres_stream, lets_an_idle_slot_advance) {
  prepare("CREATE TABLE t (id int PRIMARY KEY); CREATE UNLOGGED TABLE elsewhere (n int)");
  auto stream = reader();
  const auto before = confirmed();
  db->sql("CREATE TABLE unused (n int)");
  const auto end = log_end();
  EXPECT_TRUE(stream.run_until(end));
  stream->confirm(stream.passed);
  EXPECT_TRUE(stream.run_until([&] { return confirmed() >= end; }));
  EXPECT_GT(confirmed(), before);
}

TEST_P(postgres_stream, reports_what_was_confirmed_and_nothing_else) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto stream = reader();
  db->sql("INSERT INTO t VALUES (1)");
  ASSERT_TRUE(stream.run_until([&] { return stream.rows == 1 && stream.passed > resume; }));
  const auto first = stream.passed;
  stream.run_for(2500ms);
  EXPECT_EQ(confirmed(), resume);
  stream->confirm(first);
  EXPECT_TRUE(stream.run_until([&] { return confirmed() >= first; }, 3s));
}

TEST_P(postgres_stream, says_on_closing_what_became_durable_and_resumes_behind_it) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  {
    auto stream = reader();
    db->sql("INSERT INTO t VALUES (1)");
    ASSERT_EQ(changes(stream).size(), 3u);
    stream->confirm(stream.passed);
    resume = stream.passed;
    stream->close();
  }
  EXPECT_TRUE(
      await("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '" + db->name() + "'"));
  EXPECT_EQ(confirmed(), resume);
  db->sql("INSERT INTO t VALUES (2)");
  auto again = reader();
  EXPECT_EQ(changes(again), (text_lines{"begin", "insert public.t [2]", "commit"}));
}

TEST_P(postgres_stream, sends_again_what_was_not_confirmed) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  {
    auto stream = reader();
    db->sql("INSERT INTO t VALUES (1)");
    ASSERT_EQ(changes(stream).size(), 3u);
    stream->close();
  }
  EXPECT_TRUE(
      await("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '" + db->name() + "'"));
  auto again = reader();
  EXPECT_EQ(changes(again), (text_lines{"begin", "insert public.t [1]", "commit"}));
}

TEST_P(postgres_stream, loses_nothing_behind_a_message_inside_a_transaction) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  {
    auto stream = reader();
    db->sql("BEGIN; SELECT pg_logical_emit_message(true, 'm', 'x'); INSERT INTO t VALUES (1);"
            " COMMIT");
    ASSERT_TRUE(stream.run_until([&] { return stream.rows == 1; }));
    stream->confirm(resume);
    stream->close();
  }
  EXPECT_TRUE(
      await("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '" + db->name() + "'"));
  auto again = reader();
  EXPECT_EQ(changes(again), (text_lines{"begin", "insert public.t [1]", "commit"}));
}

TEST_P(postgres_stream, survives_a_pause_longer_than_the_servers_timeout) {
  prepare("CREATE TABLE t (id int PRIMARY KEY, large text);" + external("large"));
  auto stream = reader(request("options=-c%20wal_sender_timeout%3D2s"));
  stream.keeps_lines = false;
  ASSERT_TRUE(runs(stream));
  stream.may_read = false;
  db->sql("INSERT INTO t SELECT i, repeat('x', 10000) FROM generate_series(1, 2000) i");
  stream.run_for(6s);
  ASSERT_FALSE(stream.failed) << stream.failed->detail;
  EXPECT_EQ(stream.rows, 0u);
  stream.may_read = true;
  EXPECT_TRUE(stream.run_until([&] { return stream.rows == 2000; }));
}

// -- what goes wrong ------------------------------------------------------------------------------

TEST_F(postgres_walsender, fails_at_once_when_its_walsender_is_ended) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  for (const auto reads : {true, false}) {
    auto stream = reader();
    ASSERT_TRUE(runs(stream));
    stream.may_read = reads;
    db->sql(
        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '" +
        db->name() + "'");
    EXPECT_EQ(failure(stream, 2s).code, errc::source_unavailable);
    EXPECT_TRUE(await("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '" +
                      db->name() + "'"));
  }
}

TEST_F(postgres_walsender, fails_at_once_when_its_connection_is_cut) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto stream = reader();
  ASSERT_TRUE(runs(stream));
  ::shutdown(stream->socket(), SHUT_RDWR);
  EXPECT_EQ(failure(stream, 2s).code, errc::source_unavailable);
}

TEST_F(postgres_walsender, notices_a_server_that_hangs_within_five_seconds) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  const auto allowed = std::make_shared<patience>();
  auto stream = reader(request(), {}, allowed);
  ASSERT_TRUE(runs(stream));
  resume = stream.passed;
  const auto pid = std::stoi(db->value(
      "SELECT active_pid FROM pg_replication_slots WHERE slot_name = '" + db->name() + "'"));
  if (::kill(pid, SIGSTOP) != 0)
    GTEST_SKIP() << "the server runs elsewhere or is not ours to stop";
  const auto began = clock::now();
  const auto why = failure(stream);
  EXPECT_LT(clock::now() - began, 5s);
  EXPECT_EQ(why.code, errc::source_unavailable);
  EXPECT_NE(why.detail.find("did not answer"), std::string::npos) << why.detail;
  ::kill(pid, SIGCONT);
}

TEST_F(postgres_walsender, names_who_holds_its_slot) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto first = reader();
  ASSERT_TRUE(runs(first));
  const auto pid = db->value("SELECT active_pid FROM pg_replication_slots WHERE slot_name = '" +
                             db->name() + "'");
  auto second = reader();
  const auto why = failure(second);
  EXPECT_EQ(why.code, errc::slot_in_use);
  EXPECT_NE(why.detail.find("PID " + pid), std::string::npos) << why.detail;
}

TEST_P(postgres_stream, says_that_its_slot_is_gone) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  db->sql("SELECT pg_drop_replication_slot('" + db->name() + "')");
  auto stream = reader();
  EXPECT_EQ(failure(stream).code, errc::position_lost);
}

TEST_P(postgres_stream, says_that_a_publication_is_missing) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto from = request();
  from.publications = {"Its Pub", "no such"};
  auto stream = reader(std::move(from));
  db->sql("INSERT INTO t VALUES (1)");
  const auto why = failure(stream);
  EXPECT_EQ(why.code, errc::source_misconfigured);
  EXPECT_NE(why.detail.find("no such"), std::string::npos) << why.detail;
}

TEST_P(postgres_stream, refuses_another_server_and_an_older_copy_of_its_own) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  auto other = request();
  other.system_identifier = "1";
  auto stream = reader(std::move(other));
  EXPECT_EQ(failure(stream).code, errc::foreign_stream);
  auto own = request();
  own.system_identifier = db->value("SELECT system_identifier FROM pg_control_system()");
  own.resume.token += std::uint64_t{1} << 32;
  auto older = reader(std::move(own));
  EXPECT_EQ(failure(older).code, errc::foreign_stream);
}

TEST_P(postgres_stream, tells_a_wrong_password_from_a_server_that_is_not_there) {
  prepare("CREATE TABLE t (id int PRIMARY KEY)");
  const auto role = db->role("reader");
  auto from = request();
  from.to = conninfo::make(db->source(role, "wrong"), purpose::replication, "stream").value();
  auto refused = reader(std::move(from));
  const auto why = failure(refused);
  EXPECT_EQ(why.code, errc::permission_denied) << why.detail;
  EXPECT_EQ(why.detail.find("wrong"), std::string::npos) << why.detail;
  auto nobody = reader(request("port=1"));
  EXPECT_EQ(failure(nobody).code, errc::source_unavailable);
}

TEST_P(postgres_stream, gives_up_connecting_to_a_server_that_accepts_and_says_nothing) {
  const auto silent = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::listen(silent, 4), 0);
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&at), &size), 0);
  auto stream = reader(
      request("host=127.0.0.1&connect_timeout=2&port=" + std::to_string(ntohs(at.sin_port))));
  const auto began = clock::now();
  EXPECT_EQ(failure(stream).code, errc::source_unavailable);
  EXPECT_LT(clock::now() - began, 4s);
  ::close(silent);
}

} // namespace

} // namespace cdc::sources::postgres
