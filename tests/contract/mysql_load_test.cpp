#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "messages/row_key.hpp"
#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/table_reader.hpp"
#include "tests/support/mysql_database.hpp"

namespace cdc::sources::mysql {

namespace {

/// A cell as a test compares it.
using text = std::optional<std::string>;
using row_texts = std::vector<text>;
using key_values = std::vector<std::string>;

row_texts row_of(const block& from, const event& at) {
  row_texts out;
  for (const auto& each : from.image(at.first, *from.relations[at.relation]))
    out.push_back(each.has_value() ? text{from.text(each)} : std::nullopt);
  return out;
}

template <class T>
T must(result<T> from) {
  if (!from)
    throw std::runtime_error(from.error().detail);
  return *std::move(from);
}

void must(const result<void>& from) {
  if (!from)
    throw std::runtime_error(from.error().detail);
}

class mysql_load : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    CDC_NEEDS_MYSQL(GetParam());
    db_.emplace(*test::mysql_server(GetParam()));
    on_.emplace(db_->session());
    reader_ = make_table_reader(db_->source(), options());
  }

  reader_options options() {
    reader_options out;
    const auto end = must(on_->query(binlog_status_statement(on_->version()), "find the log"));
    out.at = must(coordinates::starting_in(end.text(0, 0)));
    return out;
  }

  relation_ptr describe(const std::string& name) {
    auto shape = must(catalogue{*on_}.describe(table_id{db_->name(), name}));
    if (!shape)
      throw std::runtime_error("no table " + name);
    return shape;
  }

  std::vector<row_texts> read_open(table_reader& from) {
    std::vector<row_texts> out;
    while (const auto next = must(from.next()))
      for (const auto& at : next->events) {
        EXPECT_EQ(at.what, operation::row);
        out.push_back(row_of(*next, at));
      }
    must(from.close());
    return out;
  }

  std::vector<row_texts> read(const relation_ptr& table, const load_plan& plan,
                              std::uint32_t range) {
    (void)must(reader_->open(table, plan, range));
    return read_open(*reader_);
  }

  std::vector<row_texts> read_all(const relation_ptr& table, const load_plan& plan) {
    std::vector<row_texts> out;
    for (std::uint32_t range = 0; range < plan.ranges.size(); ++range)
      std::ranges::move(read(table, plan, range), std::back_inserter(out));
    return out;
  }

  /// Each row exactly once.
  void expect_all_once(const relation_ptr& table, const load_plan& plan, std::size_t rows) {
    const auto read = read_all(table, plan);
    EXPECT_EQ(read.size(), rows);
    EXPECT_EQ(std::set<row_texts>(read.begin(), read.end()).size(), rows);
  }

  /// False when a reader's open transaction keeps the table as it is.
  bool change(const std::string& statement) {
    auto other = db_->session();
    must(other.run("SET lock_wait_timeout = 1", "test"));
    return other.run(statement, "test").has_value();
  }

  /// A table filled from the numbers 0 to `rows` - 1, each named i.
  void make(const std::string& columns, const std::string& values, std::size_t rows) {
    db_->sql("CREATE TABLE t (" + columns + ")");
    db_->sql("INSERT INTO t SELECT " + values + " FROM (" + numbers(rows) + ") AS n");
  }

  static std::string numbers(std::size_t count) {
    std::string tables;
    std::string sum;
    std::size_t place = 1;
    for (auto name = 'a'; place < count; ++name, place *= 10) {
      tables += fmt::format("{}(SELECT 0 AS {}", tables.empty() ? "" : ", ", name);
      for (auto digit = 1; digit < 10; ++digit)
        tables += fmt::format(" UNION ALL SELECT {}", digit);
      tables += fmt::format(") AS d{}", name);
      sum += fmt::format("{}{} * {}", sum.empty() ? "" : " + ", name, place);
    }
    return fmt::format("SELECT {} AS i FROM {} HAVING i < {}", sum, tables, count);
  }

  std::optional<test::mysql_database> db_;
  std::optional<connection> on_;
  std::unique_ptr<table_reader> reader_;
};

} // namespace

// -- ranges ---------------------------------------------------------------------------------------

TEST_P(mysql_load, divides_an_integer_key_and_reads_each_row_once) {
  make("id bigint PRIMARY KEY, v text", "i * 3 - 30000, concat('v', i)", 20'000);
  const auto shape = describe("t");

  const auto plan = must(reader_->plan(*shape, 1000));

  EXPECT_EQ(plan.scheme, range_scheme::key);
  EXPECT_GE(plan.ranges.size(), 10u);
  EXPECT_LE(plan.ranges.size(), 45u);
  EXPECT_NEAR(static_cast<double>(plan.rows_estimate), 20'000, 6'000);
  expect_all_once(shape, plan, 20'000);
}

TEST_P(mysql_load, divides_numbers_above_two_to_the_63) {
  make("id bigint unsigned PRIMARY KEY",
       "if(i % 2, 18446744073709551615 - i, 9223372036854775000 + cast(i as unsigned))", 4'000);
  const auto shape = describe("t");

  const auto plan = must(reader_->plan(*shape, 200));

  EXPECT_GE(plan.ranges.size(), 10u);
  expect_all_once(shape, plan, 4'000);
}

TEST_P(mysql_load, finds_the_dense_part_of_a_key_with_outliers) {
  make("id bigint PRIMARY KEY",
       "case i when 0 then -9223372036854775808 when 1 then 9223372036854775807 else i end", 5'000);
  const auto shape = describe("t");

  const auto plan = must(reader_->plan(*shape, 500));

  EXPECT_GE(plan.ranges.size(), 6u);
  EXPECT_LE(plan.ranges.size(), 40u);
  expect_all_once(shape, plan, 5'000);
}

TEST_P(mysql_load, divides_a_composite_key_within_one_value_of_its_first_column) {
  make("a int, b varchar(20) COLLATE utf8mb4_general_ci, c int, PRIMARY KEY (a, b, c)",
       "if(i < 4000, 1, i), concat('k', i % 10), i", 5'000);
  const auto shape = describe("t");

  const auto plan = must(reader_->plan(*shape, 500));

  EXPECT_EQ(plan.scheme, range_scheme::opaque);
  EXPECT_GE(plan.ranges.size(), 8u);
  expect_all_once(shape, plan, 5'000);
}

TEST_P(mysql_load, divides_keys_of_text_by_the_order_of_their_collation) {
  for (const auto* collation :
       {"utf8mb4_general_ci", "utf8mb4_bin", "latin1_german1_ci", "ucs2_general_ci", "gbk_chinese_ci",
        "utf8mb4_unicode_520_ci"}) {
    const std::string charset{collation, std::string_view{collation}.find('_')};
    db_->sql("DROP TABLE IF EXISTS t");
    make(fmt::format("k varchar(40) CHARACTER SET {} COLLATE {} PRIMARY KEY, v int", charset,
                     collation),
         "concat(char(97 + i % 26), if(i % 3, 'B', 'b'), i), i", 3'000);
    if (charset != "gbk")
      db_->sql("INSERT INTO t VALUES ('ä', -1), ('zß', -2), ('', -3)");
    const auto shape = describe("t");

    const auto plan = must(reader_->plan(*shape, 300));

    EXPECT_EQ(plan.scheme, range_scheme::opaque) << collation;
    EXPECT_GE(plan.ranges.size(), 8u) << collation;
    EXPECT_LE(plan.ranges.size(), 12u) << collation;
    expect_all_once(shape, plan, charset == "gbk" ? 3'000 : 3'003);
  }
}

TEST_P(mysql_load, divides_keys_of_bytes_dates_and_decimals) {
  const std::vector<std::pair<std::string, std::string>> keys{
      {"binary(8)", "unhex(lpad(hex(i * 7919), 16, '0'))"},
      {"varbinary(20)", "unhex(left(sha2(i, 256), 40))"},
      {"datetime(3)", "'2020-01-01' + INTERVAL i SECOND"},
      {"timestamp", "'2020-01-01' + INTERVAL i SECOND"},
      {"date", "'1990-01-01' + INTERVAL i DAY"},
      {"time", "sec_to_time(i - 1000)"},
      {"decimal(30,10)", "(i - 1500) / 7"},
      {"mediumint unsigned", "i * 5"},
      {"tinyint unsigned", "i"}};
  for (const auto& [type, value] : keys) {
    const auto rows = type == "tinyint unsigned" ? 256u : 3'000u;
    db_->sql("DROP TABLE IF EXISTS t");
    make("k " + type + " PRIMARY KEY, v int", value + ", i", rows);
    const auto shape = describe("t");

    const auto plan = must(reader_->plan(*shape, rows / 10));

    EXPECT_GE(plan.ranges.size(), 6u) << type;
    expect_all_once(shape, plan, rows);
  }
}

TEST_P(mysql_load, does_not_divide_by_what_has_no_order_of_its_own) {
  for (const std::string type : {"enum('a','b')", "double", "bit(20)"}) {
    db_->sql("DROP TABLE IF EXISTS t");
    make("k " + type + ", id int, PRIMARY KEY (k, id)", type == "bit(20)" ? "i, i" : "1 + i % 2, i",
         2'000);
    const auto shape = describe("t");

    const auto plan = must(reader_->plan(*shape, 100));

    EXPECT_EQ(plan.ranges.size(), 1u) << type;
    EXPECT_EQ(plan.scheme, range_scheme::opaque) << type;
    expect_all_once(shape, plan, 2'000);
  }
}

TEST_P(mysql_load, divides_by_the_columns_before_one_that_has_no_order) {
  make("a int, k enum('x','y'), b int, PRIMARY KEY (a, k, b)", "i div 4, 1 + i % 2, i", 4'000);
  const auto shape = describe("t");

  const auto plan = must(reader_->plan(*shape, 400));

  EXPECT_GE(plan.ranges.size(), 6u);
  EXPECT_EQ(plan.scheme, range_scheme::opaque);
  expect_all_once(shape, plan, 4'000);
}

TEST_P(mysql_load, does_not_divide_by_an_index_over_beginnings) {
  make("k varchar(100), PRIMARY KEY (k(10))", "concat('k', i)", 2'000);
  const auto shape = describe("t");

  const auto plan = must(reader_->plan(*shape, 100));

  EXPECT_EQ(plan.scheme, range_scheme::keyless);
  EXPECT_EQ(plan.ranges.size(), 1u);
  expect_all_once(shape, plan, 2'000);
}

TEST_P(mysql_load, reads_small_and_empty_tables_in_one_range) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY, v int)");
  const auto shape = describe("t");

  EXPECT_EQ(must(reader_->plan(*shape, 100)).ranges.size(), 1u);
  EXPECT_TRUE(read_all(shape, must(reader_->plan(*shape, 100))).empty());
  db_->sql("INSERT INTO t VALUES (1, 2), (3, NULL)");
  EXPECT_EQ(read_all(shape, must(reader_->plan(*shape, 100))),
            (std::vector<row_texts>{{"1", "2"}, {"3", std::nullopt}}));
}

TEST_P(mysql_load, reads_tables_and_columns_of_any_name) {
  db_->sql("CREATE TABLE `Se``le.ct \"x\" 'y'` (`order` int, `Ünï ``q``` text, `a.b` int,"
           " PRIMARY KEY (`order`, `a.b`))");
  db_->sql("INSERT INTO `Se``le.ct \"x\" 'y'` SELECT i, concat('v', i), i % 7 FROM (" +
           numbers(500) + ") AS n");
  const auto shape = describe("Se`le.ct \"x\" 'y'");

  const auto plan = must(reader_->plan(*shape, 50));

  EXPECT_GT(plan.ranges.size(), 5u);
  expect_all_once(shape, plan, 500);
}

TEST_P(mysql_load, gives_rows_in_blocks_of_the_asked_size) {
  make("id int PRIMARY KEY", "i", 2'500);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 10'000));

  (void)must(reader_->open(shape, plan, 0));
  std::vector<std::size_t> sizes;
  while (const auto next = must(reader_->next()))
    sizes.push_back(next->events.size());

  EXPECT_EQ(sizes, (std::vector<std::size_t>{1000, 1000, 500}));
  EXPECT_FALSE(must(reader_->next()));
}

// -- single rows ----------------------------------------------------------------------------------

TEST_P(mysql_load, finds_a_row_by_a_key_of_every_type) {
  const std::vector<std::pair<std::string, std::string>> keys{
      {"bigint unsigned", "18446744073709551615"},
      {"tinyint", "-128"},
      {"year", "1999"},
      {"decimal(20,5)", "-0.50000"},
      {"float", "1.1"},
      {"double", "1e-300"},
      {"bit(12)", "b'101'"},
      {"enum('it''s','ä')", "'ä'"},
      {"set('a','b','c')", "'a,c'"},
      {"varchar(20) character set latin1", "'ä''\\\\'"},
      {"char(10) character set utf16", "'😀 x'"},
      {"varchar(20) character set sjis", "'日本'"},
      {"binary(4)", "X'00ff0a00'"},
      {"varbinary(9)", "X''"},
      {"datetime(6)", "'2024-02-29 23:59:59.999999'"},
      {"timestamp(3)", "'2024-02-29 23:59:59.125'"},
      {"date", "'2024-02-29'"},
      {"time(2)", "'-838:59:58.50'"}};
  for (const auto& [type, literal] : keys) {
    db_->sql("DROP TABLE IF EXISTS t");
    db_->sql("CREATE TABLE t (k " + type + " PRIMARY KEY, v int)");
    db_->sql("INSERT INTO t VALUES (" + literal + ", 7)");
    const auto shape = describe("t");
    const auto rows = read_all(shape, must(reader_->plan(*shape, 100)));
    ASSERT_EQ(rows.size(), 1u) << type;

    const auto found =
        must(reader_->read_key(shape, encode_key(key_values{rows.front().front().value()})));

    ASSERT_TRUE(found.row) << type;
    EXPECT_EQ(row_of(*found.row, found.row->events.front()), rows.front()) << type;
  }
}

TEST_P(mysql_load, finds_no_row_whose_key_is_only_equal_by_collation) {
  db_->sql("CREATE TABLE t (k varchar(20) COLLATE utf8mb4_general_ci PRIMARY KEY, v int)");
  db_->sql("INSERT INTO t VALUES ('Straße', 1), ('x ', 2)");
  const auto shape = describe("t");

  EXPECT_TRUE(must(reader_->read_key(shape, encode_key(key_values{"Straße"}))).row);
  EXPECT_FALSE(must(reader_->read_key(shape, encode_key(key_values{"straße"}))).row);
  EXPECT_FALSE(must(reader_->read_key(shape, encode_key(key_values{"x"}))).row);
  EXPECT_FALSE(must(reader_->read_key(shape, encode_key(key_values{"y"}))).row);
}

// -- snapshots ------------------------------------------------------------------------------------

TEST_P(mysql_load, reads_what_there_was_when_its_snapshot_was_taken) {
  make("id int PRIMARY KEY", "i", 10);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100));

  const auto before = must(reader_->open(shape, plan, 0));
  db_->sql("INSERT INTO t VALUES (100)");
  EXPECT_EQ(read_open(*reader_).size(), 10u);
  const auto after = must(reader_->open(shape, plan, 0));
  EXPECT_EQ(read_open(*reader_).size(), 11u);

  EXPECT_GT(after.log_end, before.log_end);
  EXPECT_TRUE(after.seen.has_seen_no_less_than(before.seen));
  EXPECT_FALSE(before.seen.has_seen_no_less_than(after.seen));
}

TEST_P(mysql_load, looks_without_a_range) {
  const auto before = must(reader_->look());
  db_->sql("CREATE TABLE t (id int PRIMARY KEY)");
  const auto after = must(reader_->look());

  EXPECT_FALSE(before.has_seen_no_less_than(after));
  EXPECT_TRUE(after.has_seen_no_less_than(before));
}

TEST_P(mysql_load, fails_rather_than_reads_a_table_that_was_altered_behind_its_snapshot) {
  make("id int PRIMARY KEY, v varchar(10) CHARACTER SET latin1", "i, 'ä'", 10);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100));

  (void)must(reader_->open(shape, plan, 0));
  const auto was_altered = change("ALTER TABLE t MODIFY v varchar(10) CHARACTER SET utf8mb4");
  EXPECT_NE(reader_->next().has_value(), was_altered);
  (void)reader_->close();
  if (!was_altered)
    db_->sql("ALTER TABLE t MODIFY v varchar(10) CHARACTER SET utf8mb4");

  (void)must(reader_->open(shape, plan, 0));
  const auto rows = read_open(*reader_);
  EXPECT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows.front().back(), "ä");
}

TEST_P(mysql_load, fails_rather_than_finds_a_truncated_table_empty) {
  make("v int", "i", 10);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100));
  EXPECT_EQ(plan.scheme, range_scheme::keyless);

  (void)must(reader_->open(shape, plan, 0));
  const auto was_truncated = change("TRUNCATE t");
  const auto rows = reader_->next();
  if (was_truncated) {
    EXPECT_FALSE(rows);
  } else {
    EXPECT_EQ(must(rows)->events.size(), 10u);
  }
  (void)reader_->close();
}

TEST_P(mysql_load, takes_an_exact_snapshot_of_a_table_without_a_key) {
  make("v int", "i", 10);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100));

  const auto seen = must(reader_->open(shape, plan, 0));
  EXPECT_EQ(read_open(*reader_).size(), 10u);

  EXPECT_TRUE(must(reader_->look()).has_seen_no_less_than(seen.seen));
}

TEST_P(mysql_load, locks_a_table_without_a_key_when_no_moment_is_quiet) {
  make("v int", "i", 10);
  db_->sql("CREATE TABLE busy (v int) ");
  const auto shape = describe("t");
  std::atomic<bool> is_over{false};
  std::thread writer{[&, on = std::make_shared<connection>(db_->session())] {
    while (!is_over)
      (void)on->run("INSERT INTO busy VALUES (1)", "write");
  }};
  const auto open_with = [&](bool allowed) {
    auto source = db_->source(true);
    source.allow_table_lock = allowed;
    auto with = options();
    with.quiet_patience = std::chrono::milliseconds{0};
    const auto reader = make_table_reader(source, with);
    const auto plan = must(reader->plan(*shape, 100));
    std::size_t refused = 0;
    for (auto i = 0; i < 20; ++i) {
      const auto seen = reader->open(shape, plan, 0);
      if (seen) {
        EXPECT_EQ(read_open(*reader).size(), 10u);
      } else {
        ++refused;
        EXPECT_NE(seen.error().detail.find("allow_table_lock"), std::string::npos);
      }
    }
    return refused;
  };
  const auto refused = open_with(false);
  const auto refused_under_lock = open_with(true);
  is_over = true;
  writer.join();

  EXPECT_EQ(refused_under_lock, 0u);
  if (db_->is_mariadb()) {
    EXPECT_EQ(refused, 0u);
  }
  db_->sql("INSERT INTO t VALUES (1)"); // Nothing is locked any more.
}

TEST_P(mysql_load, refuses_a_table_without_snapshots_unless_it_may_lock_it) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY) ENGINE = MyISAM");
  db_->sql("INSERT INTO t VALUES (1), (2)");
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100));

  const auto refused = reader_->open(shape, plan, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::source_misconfigured);
  EXPECT_NE(refused.error().detail.find("MyISAM"), std::string::npos);

  auto source = db_->source(true);
  source.allow_table_lock = true;
  const auto strong = make_table_reader(source, options());
  (void)must(strong->open(shape, plan, 0));
  auto other = db_->session();
  must(other.run("SET lock_wait_timeout = 1", "test"));
  EXPECT_FALSE(other.run("INSERT INTO t VALUES (3)", "test"));
  EXPECT_EQ(read_open(*strong).size(), 2u);
  EXPECT_TRUE(other.run("INSERT INTO t VALUES (3)", "test"));
}

// -- connections ----------------------------------------------------------------------------------

TEST_P(mysql_load, connects_again_after_its_connection_was_killed) {
  make("id int PRIMARY KEY, v varchar(3000)", "i, repeat('x', 3000)", 20'000);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100'000));
  (void)must(reader_->open(shape, plan, 0));
  ASSERT_TRUE(must(reader_->next()));

  const auto found = db_->sql("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'cdc' AND "
                              "INFO LIKE '%" + db_->name() + "%'");
  ASSERT_EQ(found.size(), 1u);
  db_->sql("KILL " + std::string{found.text(0, 0)});
  auto broke = false;
  for (auto i = 0; i < 30 && !broke; ++i)
    broke = !reader_->next();
  EXPECT_TRUE(broke);

  (void)reader_->close();
  (void)must(reader_->open(shape, plan, 0));
  EXPECT_EQ(read_open(*reader_).size(), 20'000u);
}

TEST_P(mysql_load, leaves_a_range_half_read) {
  make("id int PRIMARY KEY, v varchar(1000)", "i, repeat('x', 1000)", 20'000);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100'000));
  (void)must(reader_->open(shape, plan, 0));
  ASSERT_TRUE(must(reader_->next()));
  must(reader_->close());

  EXPECT_EQ(read(shape, plan, 0).size(), 20'000u);
}

TEST_P(mysql_load, ends_what_it_does_when_it_is_cancelled) {
  make("id int PRIMARY KEY", "i", 10);
  const auto shape = describe("t");
  const auto plan = must(reader_->plan(*shape, 100));
  auto other = db_->session();
  must(other.run("LOCK TABLES t WRITE", "test"));
  std::thread canceller{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    reader_->cancel();
  }};
  const auto opened = reader_->open(shape, plan, 0);
  const auto read = opened ? reader_->next() : result<block_ptr>{tl::unexpected(opened.error())};
  canceller.join();

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::cancelled);
  EXPECT_EQ(reader_->look().error().code, errc::cancelled);
}

CDC_ON_MARIADB_AND_MYSQL(mysql_load);

} // namespace cdc::sources::mysql
