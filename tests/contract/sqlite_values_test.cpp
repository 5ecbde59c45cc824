#include <cmath>
#include <cstring>

#include "tests/contract/sink_contract.hpp"
#include "tests/contract/sink_contract_sqlite.hpp"

namespace cdc::contract {

namespace {

/// One value of one kind: what the source says, and what SQLite must then hold.
struct example {
  std::string text;
  std::string type;   ///< typeof()
  std::string stored; ///< Its bytes; numbers as SQLite prints them.
};

class sqlite_values : public ::testing::Test {
protected:
  void open(const target_table_ptr& table, bool numeric_as_number = false) {
    auto target = sqlite_config(file());
    target.numeric_as_number = numeric_as_number;
    sink_ = std::move(*sinks::make_sink(target));
    ASSERT_TRUE(sink_->open(orders_stream()));
    const auto prepared = sink_->prepare({table});
    ASSERT_TRUE(prepared) << prepared.error().detail;
  }

  void write(batch_ptr work) {
    const auto report = contract::write(*sink_, std::move(work));
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_TRUE(report->refused.empty());
  }

  /// Each example as a whole row, as a partial update, and after a move.
  void expect(kind what, const std::vector<example>& examples, bool numeric_as_number = false,
              bool is_unsigned = false) {
    const auto table =
        make_table("v", {{"id", kind::integer, true}, {"v", what, false, is_unsigned}, {"other"}});
    open(table, numeric_as_number);
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const auto& it = examples[i];
      const auto id = std::to_string(3 * i);
      const auto partial = std::to_string(3 * i + 1);
      const auto moved = std::to_string(3 * i + 2);
      write(next_.upsert(table, {id, it.text, "x"})
                .upsert(table, {partial, nullptr, "x"})
                .upsert(table, {"-1", nullptr, "x"})
                .partial(table, {partial, it.text, absent})
                .move(table, {"-1", nullptr, nullptr}, {moved, it.text, absent})
                .commit());
    }
    reader db(file());
    for (std::size_t i = 0; i < examples.size(); ++i)
      for (std::size_t way = 0; way < 3; ++way) {
        const auto where = " FROM v WHERE id = " + std::to_string(3 * i + way);
        EXPECT_EQ(db.one("SELECT typeof(v)" + where), examples[i].type) << examples[i].text;
        EXPECT_EQ(db.one("SELECT v" + where), examples[i].stored) << examples[i].text;
        EXPECT_EQ(db.one("SELECT other" + where), "x");
      }
    sink_.reset();
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "t.db"; }

  scratch_folder folder_;
  batches next_;
  std::unique_ptr<sinks::sink> sink_;
};

example text(std::string written) {
  return {written, "text", written};
}
example integer(std::string written) {
  return {written, "integer", written};
}

TEST_F(sqlite_values, integers_are_integers_to_their_last_digit) {
  expect(kind::integer, {integer("0"), integer("-1"), integer("9223372036854775807"),
                         integer("-9223372036854775808")});
}

TEST_F(sqlite_values, unsigned_integers_beyond_64_bits_signed_are_text) {
  expect(kind::integer,
         {integer("0"), integer("9223372036854775807"), text("9223372036854775808"),
          text("18446744073709551615")},
         false, true);
}

TEST_F(sqlite_values, booleans_are_one_and_zero) {
  expect(kind::boolean, {{"t", "integer", "1"}, {"f", "integer", "0"}});
}

TEST_F(sqlite_values, floats_are_numbers_and_what_is_no_number_is_text) {
  expect(kind::floating, {{"1.5", "real", "1.5"},
                          {"3", "real", "3.0"},
                          {"0.1", "real", "0.1"},
                          {"1e+20", "real", "1.0e+20"},
                          {"-2.2250738585072014e-308", "real", "-2.2250738585072e-308"},
                          text("NaN"),
                          text("Infinity"),
                          text("-Infinity")});
}

/// The doubles of a column, which text would round.
std::vector<double> read_doubles(const std::filesystem::path& file, const char* sql) {
  sqlite3* db = nullptr;
  sqlite3_stmt* query = nullptr;
  EXPECT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  sqlite3_prepare_v2(db, sql, -1, &query, nullptr);
  std::vector<double> out;
  while (sqlite3_step(query) == SQLITE_ROW) {
    EXPECT_EQ(sqlite3_column_type(query, 0), SQLITE_FLOAT);
    out.push_back(sqlite3_column_double(query, 0));
  }
  sqlite3_finalize(query);
  sqlite3_close(db);
  return out;
}

TEST_F(sqlite_values, floats_keep_every_bit) {
  const auto table = make_table("v", {{"id", kind::integer, true}, {"v", kind::floating}});
  open(table);
  const std::vector<std::string> texts{
      "-0",           "5e-324", "1.7976931348623157e+308", "0.30000000000000004", "1.1754944e-38",
      "3.4028235e+38"};
  for (std::size_t i = 0; i < texts.size(); ++i)
    next_.upsert(table, {std::to_string(i), texts[i]});
  write(next_.commit());
  const auto stored = read_doubles(file(), "SELECT v FROM v ORDER BY id");
  ASSERT_EQ(stored.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const double meant = std::strtod(texts[i].c_str(), nullptr);
    EXPECT_EQ(std::memcmp(&stored[i], &meant, sizeof meant), 0) << texts[i];
  }
  EXPECT_TRUE(std::signbit(stored[0]));
}

TEST_F(sqlite_values, decimals_are_their_text) {
  expect(kind::decimal, {text("0"), text("1.50"), text("-0.000000000000000000000000000001"),
                         text("99999999999999999999999999999999999999.99"), text("NaN"),
                         text("Infinity"), text("-Infinity")});
}

TEST_F(sqlite_values, decimals_are_numbers_where_that_is_asked_for) {
  expect(kind::decimal,
         {{"12", "integer", "12"},
          {"1.50", "real", "1.5"},
          {"-0.25", "real", "-0.25"},
          {"99999999999999999999", "real", "1.0e+20"},
          text("NaN"),
          text("-Infinity")},
         true);
}

TEST_F(sqlite_values, a_decimal_of_the_key_stays_text) {
  const auto table = make_table("v", {{"id", kind::decimal, true}, {"v"}});
  open(table, true);
  write(next_.upsert(table, {"1.10000000000000000001", "a"})
            .upsert(table, {"1.10000000000000000002", "b"})
            .commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM v"),
            (shown_rows{{"1.10000000000000000001", "a"}, {"1.10000000000000000002", "b"}}));
}

TEST_F(sqlite_values, bytes_are_blobs_of_any_byte) {
  std::string every;
  std::string hex = "\\x";
  for (int i = 0; i < 256; ++i) {
    every += static_cast<char>(i);
    hex += fmt::format("{:02x}", i);
  }
  expect(kind::bytes, {{"\\x", "blob", ""},
                       {"\\x00", "blob", std::string(1, '\0')},
                       {"\\xDEADbeef", "blob", "\xde\xad\xbe\xef"},
                       {hex, "blob", every}});
}

TEST_F(sqlite_values, two_blobs_of_one_row_do_not_share_their_bytes) {
  const auto table =
      make_table("v", {{"k", kind::bytes, true}, {"a", kind::bytes}, {"t"}, {"b", kind::bytes}});
  open(table);
  write(next_.upsert(table, {"\\x01", "\\x0a0b", "text", "\\x0c"})
            .upsert(table, {"\\x02", nullptr, nullptr, "\\x"})
            .move(table, {"\\x01", nullptr, nullptr, nullptr}, {"\\x0303", absent, absent, "\\x0d"})
            .commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM v"),
            (shown_rows{{"\x03\x03", "\x0a\x0b", "text", "\x0d"},
                        {"\x02", std::nullopt, std::nullopt, ""}}));
}

TEST_F(sqlite_values, text_is_its_bytes) {
  expect(kind::text,
         {text(""), text(" "), text("it's \"quoted\" \\ and\nbroken"), text("grün 中国 🚀"),
          text(std::string(100'000, 'x')), text("NULL"), text("007"), text("1e5"), text("0x1F")});
}

TEST_F(sqlite_values, json_is_its_document_and_json_null_is_not_null) {
  expect(kind::json, {text("null"), text("\"null\""), text("{\"b\" : 1,  \"a\": [1.10, 1e400]}"),
                      text("0"), text("{}"), text("[]")});
  EXPECT_EQ(reader(file()).one("SELECT count(*) FROM v WHERE v IS NULL"), "0");
}

TEST_F(sqlite_values, arrays_tell_empty_from_an_empty_string_and_from_null) {
  expect(kind::array,
         {text("{}"), text("{\"\"}"), text("{NULL}"), text("{\"NULL\"}"), text("[2:3]={1,2}"),
          text("{{1,2},{3,4}}"), text("{(1,1),(0,0);(2,2),(0,0)}")});
}

TEST_F(sqlite_values, bit_strings_of_any_length_stay) {
  for (const std::size_t length : {1U, 8U, 9U, 64U, 200U}) {
    std::string bits;
    for (std::size_t i = 0; i < length; ++i)
      bits += i % 3 == 0 ? '0' : '1';
    std::filesystem::remove(file());
    expect(kind::bit, {text(bits), text(std::string(length, '0')), text(std::string(length, '1'))});
  }
}

TEST_F(sqlite_values, times_are_the_servers_text_however_far_away) {
  expect(kind::timestamp, {text("0044-03-15 12:00:00 BC"), text("294276-12-31 23:59:59.999999"),
                           text("infinity"), text("-infinity"), text("1969-12-31 23:59:59.5")});
  std::filesystem::remove(file());
  expect(kind::date, {text("4713-01-01 BC"), text("5874897-12-31"), text("infinity")});
  std::filesystem::remove(file());
  expect(kind::time, {text("24:00:00"), text("00:00:00+15:59:59"), text("-838:59:59")});
  std::filesystem::remove(file());
  expect(kind::timestamptz, {text("2026-11-30 17:00:00.123456+00")});
}

TEST_F(sqlite_values, every_other_type_is_its_text) {
  expect(kind::other, {text("(1,\"a b\",)"), text("[1,10)"), text("{[1,3),[5,7)}"),
                       text("'a':1 'b':2"), text("1 year 2 mons -3 days +04:05:06"),
                       text("$1,000.00"), text("\"a\"=>\"1\", \"b\"=>NULL"), text("<a>b</a>"),
                       text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), text("192.168.0.1/24")});
  std::filesystem::remove(file());
  expect(kind::enumeration, {text("sad"), text("")});
}

TEST_F(sqlite_values, keys_differ_by_case_accent_and_trailing_blank) {
  const auto table = make_table("v", {{"k", kind::text, true}, {"v"}});
  open(table);
  write(next_.upsert(table, {"a", "1"})
            .upsert(table, {"A", "2"})
            .upsert(table, {"a ", "3"})
            .upsert(table, {"á", "4"})
            .upsert(table, {"", "5"})
            .remove(table, {"A", nullptr})
            .commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM v"),
            (shown_rows{{"a", "1"}, {"a ", "3"}, {"á", "4"}, {"", "5"}}));
}

TEST_F(sqlite_values, minus_zero_and_zero_are_one_key_with_the_last_ones_sign) {
  const auto table = make_table("v", {{"k", kind::floating, true}, {"v"}, {"w"}});
  open(table);
  write(next_.upsert(table, {"0", "a", "kept"}).commit());
  write(next_.move(table, {"0", nullptr, nullptr}, {"-0", "b", absent}).commit());
  EXPECT_EQ(reader(file()).query("SELECT v, w FROM v"), (shown_rows{{"b", "kept"}}));
  EXPECT_TRUE(std::signbit(read_doubles(file(), "SELECT k FROM v").at(0)));
  write(next_.upsert(table, {"0", "c", "d"}).commit());
  EXPECT_EQ(reader(file()).query("SELECT v, w FROM v"), (shown_rows{{"c", "d"}}));
  EXPECT_FALSE(std::signbit(read_doubles(file(), "SELECT k FROM v").at(0)));
}

TEST_F(sqlite_values, names_of_any_letters_are_names) {
  const auto table =
      make_table("odd \"name\"; DROP TABLE x",
                 {{"Group", kind::integer, true}, {"a \"b\" `c` [d]"}, {"select"}, {"ü"}});
  open(table);
  write(next_.upsert(table, {"1", "a", "b", "c"})
            .partial(table, {"1", absent, "B", absent})
            .commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM \"odd \"\"name\"\"; DROP TABLE x\""),
            (shown_rows{{"1", "a", "B", "c"}}));
}

TEST_F(sqlite_values, a_text_that_is_no_number_is_not_guessed_at) {
  const auto table = make_table("v", {{"id", kind::integer, true}, {"v", kind::integer}});
  open(table);
  // Not a number of 64 bits, in a column of numbers: no source sends it, and it must not be
  // guessed.
  const auto report = contract::write(
      *sink_, next_.upsert(table, {"1", "1"}).upsert(table, {"2", "many"}).commit());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::target_misconfigured);
  EXPECT_EQ(report.error().detail.find("many"), std::string::npos) << "a value is in the error";
}

TEST_F(sqlite_values, constants_are_written_with_every_row) {
  auto table =
      std::make_shared<target_table>(*make_table("v", {{"id", kind::integer, true}, {"v"}}));
  target_column origin;
  origin.name = "origin";
  origin.constant = "shop";
  table->columns.push_back(origin);
  open(table);
  write(next_.upsert(table, {"1", "a"})
            .upsert(table, {"2", "b"})
            .partial(table, {"1", "c"})
            .commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM v"),
            (shown_rows{{"1", "c", "shop"}, {"2", "b", "shop"}}));
}

} // namespace

} // namespace cdc::contract
