#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "messages/row_key.hpp"
#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/lsn.hpp"
#include "sources/postgres/slots.hpp"
#include "sources/postgres/table_reader.hpp"
#include "tests/support/postgres_database.hpp"

namespace cdc::sources::postgres {

namespace {

using test::postgres_database;

/// A cell as a test compares it.
using text = std::optional<std::string>;
using row_texts = std::vector<text>;

row_texts row_of(const block& from, const event& at) {
  row_texts out;
  for (const auto& each : from.image(at.first, *from.relations[at.relation]))
    out.push_back(each.has_value() ? text{from.text(each)} : std::nullopt);
  return out;
}

void append(std::vector<row_texts>& out, const block& from) {
  for (const auto& at : from.events) {
    ASSERT_EQ(at.what, operation::row);
    ASSERT_FALSE(at.is_partial);
    out.push_back(row_of(from, at));
  }
}

template <class T>
T must(result<T> from) {
  if (!from)
    throw std::runtime_error(from.error().detail);
  return *std::move(from);
}

class postgres_load : public testing::Test {
protected:
  void SetUp() override {
    CDC_NEEDS_POSTGRES();
    db_ = std::make_unique<postgres_database>();
    on_.emplace(db_->plain_session());
    reader_options options;
    options.slot = db_->name();
    reader_ = make_table_reader(db_->source(), options);
  }

  relation_ptr describe(const std::string& schema, const std::string& name) {
    return must(catalogue{*on_, {}}.describe(table_id{schema, name}));
  }

  std::vector<row_texts> read(const relation_ptr& table, const load_plan& plan,
                              std::uint32_t range) {
    std::vector<row_texts> out;
    (void)must(reader_->open(table, plan, range));
    while (const auto next = must(reader_->next()))
      append(out, *next);
    if (auto closed = reader_->close(); !closed)
      throw std::runtime_error(closed.error().detail);
    return out;
  }

  std::vector<row_texts> read_all(const relation_ptr& table, const load_plan& plan) {
    std::vector<row_texts> out;
    for (std::uint32_t range = 0; range < plan.ranges.size(); ++range)
      std::ranges::move(read(table, plan, range), std::back_inserter(out));
    return out;
  }

  /// Each row exactly once, and no range far above what was asked for.
  void expect_all_once(const relation_ptr& table, const load_plan& plan, std::size_t rows) {
    const auto read = read_all(table, plan);
    EXPECT_EQ(read.size(), rows);
    EXPECT_EQ(std::set<row_texts>(read.begin(), read.end()).size(), rows);
  }

  std::unique_ptr<postgres_database> db_;
  std::optional<connection> on_;
  std::unique_ptr<table_reader> reader_;
};

// -- values ---------------------------------------------------------------------------------------

struct typed_values {
  std::string type;
  std::vector<std::string> literals; ///< SQL.
};

const std::vector<typed_values>& values_of_every_type() {
  static const std::vector<typed_values> out{
      {"bool", {"true", "false"}},
      {"int2", {"-32768", "32767"}},
      {"int4", {"-2147483648", "2147483647"}},
      {"int8", {"-9223372036854775808", "9223372036854775807"}},
      {"numeric",
       {"'NaN'", "'Infinity'", "'-Infinity'", "0", "-0.000", "1e300", "1e-300",
        "('9'||repeat('9',130000))::numeric", "12345678901234567890.123456789"}},
      {"numeric(12,2)", {"1234567890.10", "'NaN'"}},
      {"float4", {"'NaN'", "'Infinity'", "'-0'", "1e-45", "3.4028235e38", "0.1"}},
      {"float8", {"'NaN'", "'-Infinity'", "'-0'", "5e-324", "1.7976931348623157e308", "0.1"}},
      {"money", {"'-92233720368547758.08'", "'92233720368547758.07'"}},
      {"text",
       {"''", "'NULL'", "E'\\\\N'", "E'a\\tb\\nc\\\\d\\re\\bf\\fg\\vh'", "repeat('é',70000)",
        "E'\\x01\\x7f'", "'🦀𝄞'", "E'\\\\.'"}},
      {"varchar(20)", {"'  x  '", "''"}},
      {"char(10)", {"'ab'", "''"}},
      {"\"char\"", {"'a'", "''"}},
      {"name", {"'n'"}},
      {"bytea", {"''", "'\\x00ff5c0a09'", "decode(repeat('00ff',50000),'hex')"}},
      {"date", {"'infinity'", "'-infinity'", "'4713-11-24 BC'", "'5874897-12-31'", "'2024-02-29'"}},
      {"time", {"'00:00:00'", "'24:00:00'", "'23:59:59.999999'"}},
      {"timetz", {"'00:00:00+15:59:59'", "'24:00:00-15:59:59'"}},
      {"timestamp",
       {"'infinity'", "'-infinity'", "'4713-11-24 00:00:00 BC'", "'294276-12-31 23:59:59.999999'",
        "'2024-02-29 12:00:00.1'"}},
      {"timestamptz",
       {"'infinity'", "'4713-11-24 00:00:00+00 BC'", "'294276-12-31 23:59:59.999999+00'",
        "'2024-07-01 12:00:00+02'"}},
      {"interval",
       {"'178000000 years'", "'-178000000 years'", "'1 mon -1 day 00:00:00.000001'", "'0'"}},
      {"uuid",
       {"'00000000-0000-0000-0000-000000000000'", "'FFFFFFFF-ffff-FFFF-ffff-ffffffffffff'"}},
      {"json", {"'{\"b\":1, \"a\" : [1 , 2], \"a\":null}'", "'\"\\u0041\"'"}},
      {"jsonb", {"'{\"b\":1, \"a\" : [1 , 2], \"a\":null}'", "'1e1000'", "'\"\\\\\"'"}},
      {"jsonpath", {"'$.a[*] ? (@ > 1)'"}},
      {"xml", {"'<a b=\"1\">x &amp; y</a>'"}},
      {"bit(5)", {"B'10101'"}},
      {"varbit", {"B''", "B'1'"}},
      {"inet", {"'192.168.0.1/24'", "'::1'", "'10.0.0.1'"}},
      {"cidr", {"'10.0.0.0/8'", "'2001:db8::/32'"}},
      {"macaddr", {"'08:00:2b:01:02:03'"}},
      {"macaddr8", {"'08:00:2b:01:02:03:04:05'"}},
      {"point", {"'(1e-300,-0)'"}},
      {"line", {"'{1,-1,0}'"}},
      {"lseg", {"'[(0,0),(1,1)]'"}},
      {"box", {"'(2,2),(0,0)'"}},
      {"path", {"'[(0,0),(1,1)]'", "'((0,0),(1,1))'"}},
      {"polygon", {"'((0,0),(1,1),(2,0))'"}},
      {"circle", {"'<(0,0),1.5>'"}},
      {"tsvector", {"'a:1A b:2 ''c d'':3'", "''"}},
      {"tsquery", {"'a & !b <-> c'"}},
      {"int4range", {"'empty'", "'(,)'", "'[1,5)'"}},
      {"int8range", {"'[,9223372036854775807)'"}},
      {"numrange", {"'[1.5,2.50]'"}},
      {"tsrange", {"'[2024-01-01,infinity)'"}},
      {"tstzrange", {"'(-infinity,2024-01-01 00:00:00+00]'"}},
      {"daterange", {"'[2024-01-01,2024-02-01)'"}},
      {"int4multirange", {"'{[1,2),[5,7)}'", "'{}'"}},
      {"pg_lsn", {"'FFFFFFFF/FFFFFFFF'", "'0/0'"}},
      {"oid", {"4294967295", "0"}},
      {"xid", {"'4294967295'"}},
      {"xid8", {"'18446744073709551615'"}},
      {"cid", {"'7'"}},
      {"tid", {"'(4294967295,65535)'"}},
      {"int2vector", {"'1 2 3'"}},
      {"regclass", {"'pg_catalog.pg_class'"}},
      {"int4[]", {"'{}'", "'{1,NULL,-3}'", "'{{1,2},{3,4}}'", "'[0:1]={5,6}'"}},
      {"text[]", {"'{}'", "array['a,b','\"q\"','\\','NULL',NULL,'','{}',E'\\n\\t']"}},
      {"bytea[]", {"array['\\x00'::bytea,'\\xff']"}},
      {"box[]", {"'{(2,2),(0,0);(4,4),(3,3)}'"}},
      {"numeric[]", {"'{NaN,1.50}'"}},
      {"timestamptz[]", {"'{\"2024-01-01 00:00:00+00\",infinity}'"}},
      {"jsonb[]", {"array['{\"a\": \"b\\\"c\"}'::jsonb, 'null']"}},
      {"mood", {"'sad'", "'it''s \"ok\", \\ fine'"}},
      {"mood[]", {"'{sad,NULL}'::mood[]"}},
      {"pair", {"'(1,\"a,b\")'", "'(,)'"}},
      {"pair[]", {"array['(1,\"x\"\"y\")'::pair]"}},
      {"positive", {"7"}},
      {"more_positive", {"70"}},
      {"positive[]", {"'{1,2}'::positive[]"}},
      {"numbers", {"'{1,2}'"}},
      {"floatrange", {"'[1.5,2.5)'"}},
  };
  return out;
}

constexpr auto types_of_users = R"(
  CREATE TYPE mood AS ENUM ('sad', 'it''s "ok", \ fine');
  CREATE TYPE pair AS (number int, label text);
  CREATE DOMAIN positive AS int CHECK (VALUE > 0);
  CREATE DOMAIN more_positive AS positive CHECK (VALUE > 10);
  CREATE DOMAIN numbers AS int[];
  CREATE TYPE floatrange AS RANGE (subtype = float8))";

/// The columns of an insert in pgoutput's bytes: `I`, oid, `N`, count, then letter and value each.
row_texts columns_of_insert(const std::string& bytes) {
  row_texts out;
  std::size_t at = 8;
  const auto number = [&](int size) {
    std::size_t value = 0;
    for (int i = 0; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes.at(at++));
    return value;
  };
  at = 6;
  const auto count = number(2);
  for (std::size_t i = 0; i < count; ++i) {
    const auto letter = bytes.at(at++);
    if (letter != 't') {
      out.emplace_back(std::nullopt);
      continue;
    }
    const auto size = number(4);
    out.emplace_back(bytes.substr(at, size));
    at += size;
  }
  return out;
}

std::string unhexed(std::string_view hex) {
  std::string out;
  for (std::size_t i = 2; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
  return out;
}

/// The rows of a table as the stream has them, by their first column.
std::map<text, row_texts> streamed_rows(connection& on, const std::string& slot,
                                        const std::string& publication) {
  const auto found =
      must(on.run("SELECT data FROM pg_catalog.pg_logical_slot_get_binary_changes('" + slot +
                      "', NULL, NULL, 'proto_version', '1',"
                      " 'publication_names', '" +
                      publication + "')",
                  "read the stream"));
  std::map<text, row_texts> out;
  for (int row = 0; row < found.size(); ++row) {
    const auto bytes = unhexed(found.text(row, 0));
    if (bytes.front() != 'I')
      continue;
    auto columns = columns_of_insert(bytes);
    out[columns.front()] = std::move(columns);
  }
  return out;
}

TEST_F(postgres_load, copies_every_type_as_the_stream_sends_it) {
  db_->sql(types_of_users);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < values_of_every_type().size(); ++i) {
    const auto& each = values_of_every_type()[i];
    const auto table = "t" + std::to_string(i);
    db_->sql("CREATE TABLE " + table + " (id int PRIMARY KEY, v " + each.type + ")");
    rows += each.literals.size() + 1;
  }
  db_->sql("CREATE PUBLICATION p FOR ALL TABLES");
  db_->sql("SELECT pg_create_logical_replication_slot('" + db_->name() + "', 'pgoutput')");
  for (std::size_t i = 0; i < values_of_every_type().size(); ++i) {
    const auto& each = values_of_every_type()[i];
    const auto table = "t" + std::to_string(i);
    std::string values = "(0, NULL)";
    for (std::size_t j = 0; j < each.literals.size(); ++j)
      values += ", (" + std::to_string(j + 1) + ", " + each.literals[j] + ")";
    db_->sql("INSERT INTO " + table + " VALUES " + values);
    const auto stream = streamed_rows(*on_, db_->name(), "p");
    const auto shape = describe("public", table);
    const auto copied = read_all(shape, must(reader_->plan(*shape, 50'000)));

    EXPECT_EQ(copied.size(), each.literals.size() + 1) << each.type;
    for (const auto& row : copied) {
      const auto found = stream.find(row.front());
      ASSERT_NE(found, stream.end()) << each.type;
      EXPECT_EQ(row, found->second) << each.type;
      const auto alone =
          must(reader_->read_key(shape, encode_key(std::vector{row.front().value()})));
      ASSERT_TRUE(alone.row) << each.type;
      EXPECT_EQ(row_of(*alone.row, alone.row->events.front()), row) << each.type;
    }
  }
  EXPECT_GT(rows, 150U);
}

TEST_F(postgres_load, knows_what_every_type_is) {
  db_->sql(types_of_users);
  db_->sql("CREATE SCHEMA other; CREATE TYPE other.mood AS ENUM ('glad')");
  db_->sql(
      "CREATE TABLE t (id int PRIMARY KEY, a mood, b other.mood, c mood[], d more_positive,"
      " e positive[], f numbers, g box[], h numeric(5,2), i pair, j floatrange, k int4multirange,"
      " l varchar(5), m \"char\", n bit(3), o timetz, p jsonb, q oid, r xid8, s interval)");

  const auto shape = describe("public", "t");

  const auto expect = [&](const char* name, kind what, kind element, char delimiter,
                          const char* type_name) {
    const auto& at = shape->columns.at(shape->find(name).value());
    EXPECT_EQ(at.what, what) << name;
    EXPECT_EQ(at.element, element) << name;
    EXPECT_EQ(at.delimiter, delimiter) << name;
    EXPECT_EQ(at.type_name, type_name) << name;
  };
  expect("id", kind::integer, kind::other, ',', "int4");
  expect("a", kind::enumeration, kind::other, ',', "mood");
  expect("b", kind::enumeration, kind::other, ',', "mood");
  expect("c", kind::array, kind::enumeration, ',', "mood[]");
  expect("d", kind::integer, kind::other, ',', "int4");
  expect("e", kind::array, kind::integer, ',', "int4[]");
  expect("f", kind::array, kind::integer, ',', "int4[]");
  expect("g", kind::array, kind::other, ';', "box[]");
  expect("h", kind::decimal, kind::other, ',', "numeric");
  expect("i", kind::other, kind::other, ',', "pair");
  expect("j", kind::other, kind::other, ',', "floatrange");
  expect("k", kind::other, kind::other, ',', "int4multirange");
  expect("l", kind::text, kind::other, ',', "varchar");
  expect("m", kind::text, kind::other, ',', "char");
  expect("n", kind::bit, kind::other, ',', "bit");
  expect("o", kind::time, kind::other, ',', "timetz");
  expect("p", kind::json, kind::other, ',', "jsonb");
  expect("q", kind::integer, kind::other, ',', "oid");
  expect("r", kind::other, kind::other, ',', "xid8");
  expect("s", kind::other, kind::other, ',', "interval");
  EXPECT_EQ(shape->columns.at(8).type_modifier, (5 << 16 | 2) + 4);
}

// -- names and shapes -----------------------------------------------------------------------------

TEST_F(postgres_load, reads_tables_and_columns_of_any_name) {
  db_->sql(R"(CREATE SCHEMA "we-ird ""schema""")");
  db_->sql(R"(CREATE TABLE "we-ird ""schema"""."Select" ("order" int, "Ünï ""q"" 'x'" text,
              "a.b" int, "user" text, PRIMARY KEY ("order", "a.b")))");
  db_->sql(R"(INSERT INTO "we-ird ""schema"""."Select"
              SELECT i, 'v' || i, i % 7, 'u' FROM generate_series(1, 500) i)");
  const auto shape = describe("we-ird \"schema\"", "Select");

  const auto plan = must(reader_->plan(*shape, 50));

  EXPECT_GT(plan.ranges.size(), 5U);
  EXPECT_EQ(plan.scheme, range_scheme::key);
  expect_all_once(shape, plan, 500);
  const auto row = must(reader_->read_key(shape, encode_key(std::vector<std::string>{"8", "1"})));
  ASSERT_TRUE(row.row);
  EXPECT_EQ(row_of(*row.row, row.row->events.front()), (row_texts{"8", "v8", "1", "u"}));
}

TEST_F(postgres_load, leaves_out_what_the_stream_does_not_carry) {
  db_->sql(
      "CREATE TABLE t (id int PRIMARY KEY, dropped int, doubled int GENERATED ALWAYS AS (id * 2)"
      " STORED, v text, n int GENERATED ALWAYS AS IDENTITY)");
  db_->sql("ALTER TABLE t DROP COLUMN dropped");
  db_->sql("INSERT INTO t (id, v) VALUES (1, 'x')");
  const auto shape = describe("public", "t");
  const auto generated = on_->server_version() >= 180000;

  const auto rows = read_all(shape, must(reader_->plan(*shape, 100)));

  EXPECT_EQ(rows, generated ? (std::vector<row_texts>{{"1", "2", "x", "1"}})
                            : (std::vector<row_texts>{{"1", "x", "1"}}));
  EXPECT_EQ(shape->columns.back().attribute, 5);
  EXPECT_TRUE(shape->columns.back().is_identity);
}

TEST_F(postgres_load, reads_a_table_without_its_heirs) {
  db_->sql("CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child () INHERITS (parent);"
           "INSERT INTO parent VALUES (1); INSERT INTO child VALUES (2)");
  const auto shape = describe("public", "parent");

  EXPECT_EQ(read_all(shape, must(reader_->plan(*shape, 100))), (std::vector<row_texts>{{"1"}}));
}

TEST_F(postgres_load, knows_what_tells_rows_apart) {
  db_->sql("CREATE TABLE plain (a int, b int, PRIMARY KEY (b, a));"
           "CREATE TABLE keyless (a int);"
           "CREATE TABLE whole (a int, b text); ALTER TABLE whole REPLICA IDENTITY FULL;"
           "CREATE TABLE named (id int PRIMARY KEY, email text NOT NULL UNIQUE);"
           "ALTER TABLE named REPLICA IDENTITY USING INDEX named_email_key;"
           "CREATE TABLE silent (id int PRIMARY KEY); ALTER TABLE silent REPLICA IDENTITY NOTHING;"
           "CREATE TABLE later (id int PRIMARY KEY DEFERRABLE)");
  const auto identity_of = [&](const char* name) {
    std::vector<std::string> out;
    const auto shape = describe("public", name);
    for (const auto& each : shape->columns) {
      if (each.is_identity_key)
        out.push_back(each.name);
    }
    return out;
  };
  using names = std::vector<std::string>;

  EXPECT_EQ(describe("public", "plain")->key, (std::vector<std::uint16_t>{1, 0}));
  EXPECT_EQ(identity_of("plain"), (names{"a", "b"}));
  EXPECT_TRUE(describe("public", "keyless")->key.empty());
  EXPECT_TRUE(identity_of("keyless").empty());
  EXPECT_TRUE(describe("public", "whole")->key.empty());
  EXPECT_EQ(identity_of("whole"), (names{"a", "b"}));
  EXPECT_EQ(describe("public", "named")->key, (std::vector<std::uint16_t>{1}));
  EXPECT_EQ(identity_of("named"), (names{"email"}));
  EXPECT_EQ(describe("public", "silent")->identity, replica_identity::nothing);
  EXPECT_TRUE(identity_of("silent").empty());
  EXPECT_TRUE(identity_of("later").empty());
  EXPECT_EQ(describe("public", "nowhere"), nullptr);
}

// -- ranges ---------------------------------------------------------------------------------------

TEST_F(postgres_load, divides_an_integer_key_and_reads_each_row_once) {
  db_->sql("CREATE TABLE t (id bigint PRIMARY KEY, v text);"
           "INSERT INTO t SELECT i * 3 - 30000, 'v' || i FROM generate_series(1, 20000) i");
  const auto shape = describe("public", "t");
  for (const auto* analysed : {"no", "yes"}) {
    const auto plan = must(reader_->plan(*shape, 1000));

    EXPECT_EQ(plan.scheme, range_scheme::key) << analysed;
    EXPECT_FALSE(plan.by_page) << analysed;
    EXPECT_GE(plan.ranges.size(), 10U) << analysed;
    EXPECT_LE(plan.ranges.size(), 40U) << analysed;
    EXPECT_NEAR(static_cast<double>(plan.rows_estimate), 20000, 6000) << analysed;
    expect_all_once(shape, plan, 20000);
    db_->sql("ANALYZE t");
  }
}

TEST_F(postgres_load, does_not_divide_a_small_table) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 100);"
           "CREATE TABLE none (id int PRIMARY KEY)");

  const auto plan = must(reader_->plan(*describe("public", "t"), 50'000));
  const auto empty = must(reader_->plan(*describe("public", "none"), 50'000));

  EXPECT_EQ(plan.ranges, std::vector{load_range{}});
  EXPECT_EQ(plan.scheme, range_scheme::key);
  EXPECT_EQ(empty.ranges, std::vector{load_range{}});
  EXPECT_EQ(empty.rows_estimate, 0U);
}

TEST_F(postgres_load, divides_keys_of_any_type_and_number) {
  db_->sql(
      "CREATE TABLE by_uuid (id uuid PRIMARY KEY);"
      "INSERT INTO by_uuid SELECT gen_random_uuid() FROM generate_series(1, 2000);"
      "CREATE TABLE by_text (k text, n int, PRIMARY KEY (k, n));"
      "INSERT INTO by_text SELECT chr(65 + i % 50) || '''\"\\', i FROM generate_series(1, 2000) i;"
      "CREATE TABLE by_char (k char(8) PRIMARY KEY);"
      "INSERT INTO by_char SELECT to_hex(i) FROM generate_series(1, 2000) i;"
      "CREATE TABLE by_time (k timestamptz PRIMARY KEY);"
      "INSERT INTO by_time SELECT timestamptz '2024-01-01' + i * interval '1 h'"
      " FROM generate_series(1, 2000) i;"
      "CREATE TABLE by_float (k float8 PRIMARY KEY);"
      "INSERT INTO by_float SELECT i / 7.0 FROM generate_series(1, 1998) i;"
      "INSERT INTO by_float VALUES ('NaN'), ('-Infinity')");
  const std::map<std::string, range_scheme> schemes{{"by_uuid", range_scheme::key},
                                                    {"by_text", range_scheme::opaque},
                                                    {"by_char", range_scheme::opaque},
                                                    {"by_time", range_scheme::opaque},
                                                    {"by_float", range_scheme::opaque}};
  for (const auto& [name, scheme] : schemes) {
    const auto shape = describe("public", name);
    const auto plan = must(reader_->plan(*shape, 200));

    EXPECT_EQ(plan.scheme, scheme) << name;
    EXPECT_FALSE(plan.by_page) << name;
    EXPECT_GE(plan.ranges.size(), 5U) << name;
    expect_all_once(shape, plan, 2000);
  }
}

TEST_F(postgres_load, orders_an_extensions_type_by_its_own_operators) {
  if (db_->value("SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'") == "0")
    GTEST_SKIP() << "the server has no citext";
  db_->sql("CREATE EXTENSION citext; CREATE TABLE t (k citext PRIMARY KEY);"
           "INSERT INTO t SELECT CASE WHEN i % 2 = 0 THEN 'k' ELSE 'K' END || i"
           " FROM generate_series(1, 2000) i");
  const auto shape = describe("public", "t");
  const auto plan = must(reader_->plan(*shape, 100));

  EXPECT_EQ(shape->columns[0].what, kind::text);
  EXPECT_GE(plan.ranges.size(), 10U);
  expect_all_once(shape, plan, 2000);
  EXPECT_TRUE(must(reader_->read_key(shape, encode_key(std::vector<std::string>{"k4"}))).row);
}

TEST_F(postgres_load, divides_by_page_where_the_key_gives_no_order) {
  db_->sql(
      "CREATE TABLE t (a int, b text); ALTER TABLE t REPLICA IDENTITY FULL;"
      "INSERT INTO t SELECT i, repeat('x', 200) || i FROM generate_series(1, 3000) i; ANALYZE t");
  auto keyed = *describe("public", "t");
  keyed.key = {0};
  keyed.columns[0].is_key = true;
  const auto shape = std::make_shared<const relation>(keyed);

  const auto plan = must(reader_->plan(*shape, 300));

  EXPECT_EQ(plan.scheme, range_scheme::opaque);
  EXPECT_TRUE(plan.by_page);
  EXPECT_GE(plan.ranges.size(), 5U);
  expect_all_once(shape, plan, 3000);
}

TEST_F(postgres_load, reads_a_table_without_a_key_in_one_range_and_keeps_truncate_out) {
  db_->sql("CREATE TABLE t (v int); INSERT INTO t SELECT i % 10 FROM generate_series(1, 5000) i");
  const auto shape = describe("public", "t");
  const auto plan = must(reader_->plan(*shape, 100));

  EXPECT_EQ(plan.scheme, range_scheme::keyless);
  ASSERT_EQ(plan.ranges.size(), 1U);
  (void)must(reader_->open(shape, plan, 0));
  EXPECT_FALSE(db_->session().run("SET lock_timeout = '50ms'; TRUNCATE t", "truncate"));
  std::vector<row_texts> rows;
  while (const auto next = must(reader_->next()))
    append(rows, *next);
  EXPECT_EQ(rows.size(), 5000U);
  ASSERT_TRUE(reader_->close());
  db_->sql("TRUNCATE t");
}

TEST_F(postgres_load, reads_each_leaf_of_a_partitioned_table_once) {
  db_->sql("CREATE TABLE t (id int, r text, PRIMARY KEY (id, r)) PARTITION BY LIST (r);"
           "CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('a');"
           "CREATE TABLE t_b PARTITION OF t FOR VALUES IN ('b') PARTITION BY RANGE (id);"
           "CREATE TABLE t_b1 PARTITION OF t_b FOR VALUES FROM (0) TO (1000);"
           "CREATE TABLE t_b2 PARTITION OF t_b DEFAULT;"
           "INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END"
           " FROM generate_series(1, 4000) i");
  const auto shape = describe("public", "t");
  const auto plan = must(reader_->plan(*shape, 400));

  EXPECT_GE(plan.ranges.size(), 5U);
  expect_all_once(shape, plan, 4000);
}

// -- snapshots ------------------------------------------------------------------------------------

TEST_F(postgres_load, says_what_a_range_sees_and_where_the_log_ended) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)");
  const auto shape = describe("public", "t");
  const auto plan = must(reader_->plan(*shape, 100));
  auto writer = db_->session();
  const auto ended = postgres_database::sql_on(writer, "SELECT pg_current_xact_id()::xid")
                         .number<std::uint32_t>(0, 0);
  const auto begun = postgres_database::sql_on(
      writer, "BEGIN; INSERT INTO t VALUES (2); SELECT pg_current_xact_id()::xid");
  const auto open_xid = begun.number<std::uint32_t>(0, 0);
  const auto before = db_->value("SELECT pg_current_wal_insert_lsn()");

  const auto seen = must(reader_->open(shape, plan, 0));
  postgres_database::sql_on(writer, "COMMIT");
  std::vector<row_texts> rows;
  while (const auto next = must(reader_->next()))
    append(rows, *next);
  ASSERT_TRUE(reader_->close());

  EXPECT_FALSE(seen.seen.is_sure_of(open_xid));
  EXPECT_TRUE(seen.seen.is_sure_of(ended));
  EXPECT_GE(to_lsn(seen.log_end).size(), 3U);
  EXPECT_GE(seen.log_end, must(parse_lsn(before)));
  EXPECT_EQ(rows, (std::vector<row_texts>{{"1"}}));
  EXPECT_TRUE(must(reader_->look()).is_sure_of(open_xid));
  EXPECT_EQ(must(reader_->read_key(shape, encode_key(std::vector<std::string>{"3"}))).row, nullptr);
}

TEST_F(postgres_load, reads_the_next_range_after_one_was_left) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY, v text);"
           "INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 30000) i");
  const auto shape = describe("public", "t");
  const auto plan = must(reader_->plan(*shape, 50'000));
  (void)must(reader_->open(shape, plan, 0));
  ASSERT_TRUE(must(reader_->next()));

  ASSERT_TRUE(reader_->close());

  EXPECT_EQ(read_all(shape, plan).size(), 30000U);
  EXPECT_EQ(reader_->next().error().code, errc::invariant_broken);
}

TEST_F(postgres_load, connects_again_after_its_connection_broke) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)");
  const auto shape = describe("public", "t");
  const auto plan = must(reader_->plan(*shape, 100));
  (void)must(reader_->open(shape, plan, 0));
  db_->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
           " WHERE application_name = 'cdc-actors test load' AND datname = current_database()");

  const auto broken = reader_->next();

  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, errc::source_unavailable);
  EXPECT_EQ(read_all(shape, plan).size(), 1U);
}

TEST_F(postgres_load, ends_within_a_second_when_cancelled) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)");
  const auto shape = describe("public", "t");
  const auto plan = must(reader_->plan(*shape, 100));
  (void)must(reader_->open(shape, plan, 0));
  auto other = db_->session();
  postgres_database::sql_on(other, "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
  std::chrono::steady_clock::time_point cancelled_at;
  std::thread canceller{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    cancelled_at = std::chrono::steady_clock::now();
    reader_->cancel();
  }};

  const auto stopped = reader_->next();
  const auto ended_at = std::chrono::steady_clock::now();
  canceller.join();

  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, errc::cancelled);
  EXPECT_LT(ended_at - cancelled_at, std::chrono::seconds{1});
  EXPECT_EQ(reader_->look().error().code, errc::cancelled);
}

TEST_F(postgres_load, moves_an_idle_servers_log_on) {
  const auto before = must(parse_lsn(db_->value("SELECT pg_current_wal_insert_lsn()")));

  ASSERT_TRUE(reader_->nudge());

  EXPECT_GT(must(parse_lsn(db_->value("SELECT pg_current_wal_flush_lsn()"))), before);
}

TEST_F(postgres_load, says_what_the_slot_holds_back) {
  EXPECT_EQ(reader_->pressure().error().code, errc::position_lost);
  db_->sql("SELECT pg_create_logical_replication_slot('" + db_->name() + "', 'pgoutput')");
  db_->sql("SELECT pg_logical_emit_message(true, 'fill', repeat('x', 100000))");

  const auto found = must(reader_->pressure());

  EXPECT_EQ(found.status, log_pressure::state::reserved);
  EXPECT_GT(found.retained_bytes, 100'000U);
}

TEST_F(postgres_load, says_no_value_when_a_key_does_not_fit_its_type) {
  db_->sql("CREATE TABLE t (id int PRIMARY KEY)");
  const auto shape = describe("public", "t");

  const auto refused = reader_->read_key(shape, encode_key(std::vector<std::string>{"s3cret"}));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail.find("s3cret"), std::string::npos);
}

} // namespace

} // namespace cdc::sources::postgres
