#include "tests/contract/sink_contract.hpp"
#include "tests/contract/sink_contract_sqlite.hpp"

namespace cdc::contract {

namespace {

class sqlite_tables : public ::testing::Test {
protected:
  void start(bool add_columns = false) {
    sink_.reset();
    auto target = sqlite_config(file());
    target.add_columns = add_columns;
    sink_ = std::move(*sinks::make_sink(target));
    const auto state = sink_->open(orders_stream());
    ASSERT_TRUE(state) << state.error().detail;
  }

  void prepare(const target_table_ptr& table) {
    const auto prepared = sink_->prepare({table});
    ASSERT_TRUE(prepared) << prepared.error().detail;
  }

  void write(batch_ptr work) {
    const auto report = contract::write(*sink_, std::move(work));
    ASSERT_TRUE(report) << report.error().detail;
  }

  /// Prepares `table` over one made by `sql`; gives the refusal.
  std::string refusal(const std::string& sql, const target_table_ptr& table) {
    start();
    reader(file()).execute("DROP TABLE IF EXISTS items; DROP VIEW IF EXISTS seen; " + sql);
    const auto prepared = sink_->prepare({table});
    EXPECT_FALSE(prepared) << sql;
    if (prepared)
      return {};
    EXPECT_EQ(prepared.error().code, errc::target_misconfigured);
    return prepared.error().detail;
  }

  void expect_accepted(const std::string& sql, const target_table_ptr& table) {
    start();
    reader(file()).execute("DROP TABLE IF EXISTS items; " + sql);
    prepare(table);
    write(next_.upsert(table, {"1", "a", "b"}).commit());
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "t.db"; }

  const target_table_ptr items = items_table();
  scratch_folder folder_;
  batches next_;
  std::unique_ptr<sinks::sink> sink_;
};

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::string sql_of(const std::filesystem::path& file, const std::string& table) {
  return reader(file).one("SELECT sql FROM sqlite_schema WHERE name = '" + table + "'");
}

TEST_F(sqlite_tables, are_strict_with_the_key_and_no_other_constraint) {
  start();
  prepare(items);
  prepare(make_table("pairs",
                     {{"a", kind::integer, true}, {"b", kind::text, true}, {"c", kind::bytes}}));
  prepare(make_table("bare", {{"f", kind::floating}, {"t", kind::json}}));
  EXPECT_EQ(sql_of(file(), "items"), "CREATE TABLE \"items\" (\"id\" INTEGER, \"a\" TEXT, \"b\" "
                                     "TEXT, PRIMARY KEY (\"id\")) STRICT");
  EXPECT_EQ(
      sql_of(file(), "pairs"),
      "CREATE TABLE \"pairs\" (\"a\" INTEGER, \"b\" TEXT, \"c\" BLOB, PRIMARY KEY (\"a\", \"b\")) "
      "STRICT, WITHOUT ROWID");
  EXPECT_EQ(sql_of(file(), "bare"), "CREATE TABLE \"bare\" (\"f\" ANY, \"t\" TEXT) STRICT");
}

TEST_F(sqlite_tables, that_exist_are_taken_when_they_hold_the_rows) {
  expect_accepted("CREATE TABLE items (id INTEGER PRIMARY KEY, a TEXT, b TEXT)", items);
  expect_accepted("CREATE TABLE items (id INT, a VARCHAR(10), b, extra DEFAULT 3, UNIQUE (id))",
                  items);
  expect_accepted("CREATE TABLE items (b ANY, a ANY, id ANY PRIMARY KEY) STRICT, WITHOUT ROWID",
                  items);
  expect_accepted("CREATE TABLE Items (ID INTEGER PRIMARY KEY, A TEXT, B TEXT)", items);
}

TEST_F(sqlite_tables, that_have_rows_of_others_keep_them_and_say_so_once) {
  start();
  reader(file()).execute("CREATE TABLE items (id INTEGER PRIMARY KEY, a TEXT, b TEXT);"
                         "INSERT INTO items VALUES (9, 'x', 'y')");
  prepare(items);
  const auto notices = sink_->take_notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_SAYS(notices[0], "table \"items\" has rows already");
  write(next_.upsert(items, {"1", "a", "b"}).commit());
  start();
  prepare(items);
  EXPECT_TRUE(sink_->take_notices().empty());
}

TEST_F(sqlite_tables, that_lack_columns_are_refused_with_all_their_names) {
  const auto said = refusal("CREATE TABLE items (id INTEGER PRIMARY KEY)", items);
  EXPECT_SAYS(said, "\"items\"");
  EXPECT_SAYS(said, "column \"a\" TEXT is missing");
  EXPECT_SAYS(said, "column \"b\" TEXT is missing");
  EXPECT_SAYS(said, "public.items");
}

TEST_F(sqlite_tables, that_would_change_values_are_refused_by_column) {
  const auto said =
      refusal("CREATE TABLE items (id TEXT PRIMARY KEY, a INTEGER, b NUMERIC)", items);
  EXPECT_SAYS(said, "column \"id\" is TEXT, INTEGER is needed");
  EXPECT_SAYS(said, "column \"a\" is INTEGER, TEXT is needed");
  EXPECT_SAYS(said, "column \"b\" is NUMERIC, TEXT is needed");
}

TEST_F(sqlite_tables, that_would_merge_rows_are_refused) {
  const auto text_key = make_table("items", {{"id", kind::text, true}, {"a"}, {"b"}});
  EXPECT_SAYS(
      refusal("CREATE TABLE items (id TEXT COLLATE NOCASE PRIMARY KEY, a TEXT, b TEXT)", text_key),
      "column \"id\" compares by NOCASE");
  EXPECT_SAYS(refusal("CREATE TABLE items (id INTEGER, a TEXT, b TEXT)", items),
              "no primary key or unique index on (\"id\")");
  EXPECT_SAYS(
      refusal("CREATE TABLE items (id INTEGER, a TEXT, b TEXT, PRIMARY KEY (id, a))", items),
      "no primary key or unique index on (\"id\")");
  EXPECT_SAYS(refusal("CREATE TABLE items (id INTEGER PRIMARY KEY, a TEXT, b TEXT);"
                      "CREATE UNIQUE INDEX b_once ON items (b)",
                      items),
              "unique by (\"b\")");
  EXPECT_SAYS(refusal("CREATE TABLE items (id INTEGER, a TEXT, b TEXT);"
                      "CREATE UNIQUE INDEX part ON items (id) WHERE id > 10",
                      items),
              "no primary key");
}

TEST_F(sqlite_tables, that_would_refuse_rows_are_refused_first) {
  EXPECT_SAYS(
      refusal("CREATE TABLE items (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT)", items),
      "column \"a\" is NOT NULL");
  EXPECT_SAYS(
      refusal("CREATE TABLE items (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c INT NOT NULL)", items),
      "column \"c\" is NOT NULL without a default");
  EXPECT_SAYS(refusal("CREATE TABLE items (id INTEGER PRIMARY KEY, a TEXT, b TEXT AS (a))", items),
              "column \"b\" is generated");
  EXPECT_SAYS(refusal("CREATE VIEW items AS SELECT 1 AS id", items), "it is a view");
  reader(file()).execute("DROP VIEW items");
}

TEST_F(sqlite_tables, are_refused_when_two_columns_differ_in_case_alone) {
  start();
  const auto prepared =
      sink_->prepare({make_table("items", {{"id", kind::integer, true}, {"V"}, {"v"}})});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, errc::target_misconfigured);
  EXPECT_SAYS(prepared.error().detail, "columns \"V\" and \"v\" of public.items");
}

TEST_F(sqlite_tables, without_a_key_are_refused_when_no_name_for_the_row_number_is_left) {
  start();
  const auto prepared = sink_->prepare({make_table("bag", {{"rowid"}, {"OID"}, {"_rowid_"}})});
  ASSERT_FALSE(prepared);
  EXPECT_SAYS(prepared.error().detail, "fields");
  prepare(make_table("bag", {{"rowid"}, {"oid"}}));
  prepare(make_table("items", {{"rowid", kind::text, true}, {"oid"}, {"_rowid_"}}));
}

TEST_F(sqlite_tables, are_refused_under_reserved_names_and_names_that_differ_in_case_alone) {
  start();
  for (const char* name : {"sqlite_stat1", "_cdc_checkpoint", "_CDC_mine"}) {
    const auto prepared = sink_->prepare({make_table(name, {{"id", kind::integer, true}})});
    ASSERT_FALSE(prepared) << name;
    EXPECT_SAYS(prepared.error().detail, "`into`");
  }
  prepare(items);
  const auto prepared = sink_->prepare({make_table("ITEMS", {{"id", kind::integer, true}})});
  ASSERT_FALSE(prepared);
  EXPECT_SAYS(prepared.error().detail, "\"items\" and \"ITEMS\"");
}

TEST_F(sqlite_tables, that_gain_a_column_leave_it_out_and_say_so) {
  start();
  prepare(items);
  write(next_.upsert(items, {"1", "a", "b"}).commit());
  const auto wider = make_table("items", {{"id", kind::integer, true}, {"a"}, {"b"}, {"c"}}, 2);
  EXPECT_TRUE(sink_->take_notices().empty());
  prepare(wider);
  const auto notices = sink_->take_notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_SAYS(notices[0], "ALTER TABLE \"items\" ADD COLUMN \"c\" TEXT");
  EXPECT_TRUE(sink_->take_notices().empty()) << "a notice is given once";
  write(next_.upsert(wider, {"2", "a", "b", "c"}).partial(wider, {"1", "A", absent, "C"}).commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM items"),
            (shown_rows{{"1", "A", "b"}, {"2", "a", "b"}}));

  start(); // a restart with the drift in place goes on in the same way
  prepare(wider);
  EXPECT_EQ(sink_->take_notices().size(), 1U);
}

TEST_F(sqlite_tables, that_gain_a_column_add_it_when_told_to) {
  start(true);
  prepare(items);
  write(next_.upsert(items, {"1", "a", "b"}).commit());
  const auto wider =
      make_table("items", {{"id", kind::integer, true}, {"a"}, {"b"}, {"c", kind::floating}}, 2);
  prepare(wider);
  EXPECT_EQ(sink_->take_notices().size(), 1U);
  write(next_.upsert(wider, {"2", "a", "b", "1.5"})
            .partial(wider, {"1", absent, absent, "2.5"})
            .commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM items"),
            (shown_rows{{"1", "a", "b", "2.5"}, {"2", "a", "b", "1.5"}}));
}

TEST_F(sqlite_tables, that_exist_from_elsewhere_are_not_altered_even_when_told_to_add) {
  start(true);
  reader(file()).execute("CREATE TABLE items (id INTEGER PRIMARY KEY, a TEXT)");
  const auto prepared = sink_->prepare({items});
  ASSERT_FALSE(prepared);
  EXPECT_SAYS(prepared.error().detail, "column \"b\" TEXT is missing");
}

TEST_F(sqlite_tables, whose_column_changes_its_type_take_any_when_told_to) {
  start(true);
  const auto before =
      make_table("items", {{"id", kind::integer, true}, {"a", kind::integer}, {"b"}});
  prepare(before);
  write(next_.upsert(before, {"1", "7", "b"}).commit());
  const auto after =
      make_table("items", {{"id", kind::integer, true}, {"a", kind::text}, {"b"}}, 2);
  prepare(after);
  write(next_.upsert(after, {"2", "seven", "b"}).commit());
  EXPECT_EQ(reader(file()).query("SELECT id, a, typeof(a), b FROM items"),
            (shown_rows{{"1", "7", "integer", "b"}, {"2", "seven", "text", "b"}}));
}

TEST_F(sqlite_tables, whose_column_changes_its_type_are_refused_otherwise) {
  start();
  const auto before =
      make_table("items", {{"id", kind::integer, true}, {"a", kind::integer}, {"b"}});
  prepare(before);
  const auto prepared = sink_->prepare(
      {make_table("items", {{"id", kind::integer, true}, {"a", kind::text}, {"b"}}, 2)});
  ASSERT_FALSE(prepared);
  EXPECT_SAYS(prepared.error().detail, "column \"a\" is INTEGER, TEXT is needed");
  EXPECT_SAYS(prepared.error().detail, "With schema_changes = \"add\"");
}

TEST_F(sqlite_tables, whose_key_changes_its_type_are_not_promised_what_does_not_help) {
  start();
  prepare(make_table("items", {{"id", kind::integer, true}, {"a"}}));
  const auto prepared = sink_->prepare({make_table("items", {{"id", kind::text, true}, {"a"}}, 2)});
  ASSERT_FALSE(prepared);
  EXPECT_SAYS(prepared.error().detail, "column \"id\" is INTEGER, TEXT is needed");
  EXPECT_EQ(prepared.error().detail.find("schema_changes"), std::string::npos);
}

TEST_F(sqlite_tables, change_their_shape_inside_a_large_transaction) {
  start(true);
  prepare(items);
  write(next_.upsert(items, {"1", "a", "b"}).piece());
  const auto wider = make_table("items", {{"id", kind::integer, true}, {"a"}, {"b"}, {"c"}}, 2);
  prepare(wider);
  write(next_.upsert(wider, {"2", "a", "b", "c"}).upsert(items, {"3", "a", "b"}).commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM items"),
            (shown_rows{{"1", "a", "b", std::nullopt},
                        {"2", "a", "b", "c"},
                        {"3", "a", "b", std::nullopt}}));
}

TEST_F(sqlite_tables, that_vanish_while_it_runs_are_named) {
  start();
  prepare(items);
  write(next_.upsert(items, {"1", "a", "b"}).commit());
  reader(file()).execute("DROP TABLE items");
  const auto report = contract::write(*sink_, next_.upsert(items, {"2", "a", "b"}).commit());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::target_misconfigured);
  EXPECT_SAYS(report.error().detail, "items");
}

TEST_F(sqlite_tables, without_a_key_may_have_columns_named_like_the_row_number) {
  start();
  const auto table = make_table("n", {{"rowid"}, {"oid"}, {"v"}});
  prepare(table);
  write(next_.insert(table, {"1", "1", "x"}).insert(table, {"1", "1", "x"}).commit());
  write(next_.erase(table, {"1", "1", "x"}).commit());
  EXPECT_EQ(reader(file()).query("SELECT * FROM n").size(), 1U);
}

TEST_F(sqlite_tables, of_a_key_alone_are_written_and_asked) {
  start();
  const auto table = make_table("k", {{"a", kind::integer, true}, {"b", kind::text, true}});
  prepare(table);
  write(next_.upsert(table, {"1", "x"}).upsert(table, {"1", "x"}).commit());
  const auto report =
      contract::write(*sink_, next_.partial(table, {"1", "x"}).partial(table, {"1", "y"}).commit());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->answers.size(), 2U);
  EXPECT_TRUE(report->answers[0].found);
  EXPECT_FALSE(report->answers[1].found);
}

} // namespace

} // namespace cdc::contract
