#include <algorithm>

#include <gtest/gtest.h>

#include "sources/postgres/lsn.hpp"
#include "sources/postgres/setup.hpp"
#include "tests/support/postgres_database.hpp"

namespace cdc::sources::postgres {

namespace {

using test::postgres_database;

config::sync_config section(const std::string& table, bool append_only = false) {
  config::sync_config out;
  out.key = table;
  out.tables = {table};
  const auto dot = table.find('.');
  out.table = {table.substr(0, dot), table.substr(dot + 1)};
  out.append_only = append_only;
  return out;
}

config::sync_config pattern(std::vector<std::string> patterns) {
  config::sync_config out;
  out.key = "all";
  out.tables = std::move(patterns);
  out.is_pattern = true;
  return out;
}

class postgres_setup : public testing::Test {
protected:
  void SetUp() override {
    CDC_NEEDS_POSTGRES();
    db_ = std::make_unique<postgres_database>();
    source_ = db_->source();
    db_->sql("CREATE TABLE a (id int PRIMARY KEY, v text);"
             "CREATE TABLE b (id int PRIMARY KEY);"
             "CREATE TABLE log (line text)");
  }

  result<prepared_source> prepare(std::vector<std::optional<position>> resumes = {std::nullopt},
                                  bool fresh = false) {
    return prepare_source(
        {.source = source_, .sections = sections_, .resumes = std::move(resumes), .fresh = fresh});
  }

  prepared_source must_prepare(std::vector<std::optional<position>> resumes = {std::nullopt},
                               bool fresh = false) {
    auto out = prepare(std::move(resumes), fresh);
    if (!out)
      throw std::runtime_error(out.error().detail);
    return *std::move(out);
  }

  void expect_refused(errc code, const std::vector<std::string>& words) {
    const auto out = prepare();
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, code) << out.error().detail;
    for (const auto& each : words)
      EXPECT_NE(out.error().detail.find(each), std::string::npos)
          << "lacks: " << each << "\nin: " << out.error().detail;
    EXPECT_EQ(slots(), "0");
  }

  std::string slots() {
    return db_->value("SELECT count(*) FROM pg_replication_slots WHERE database = '" + db_->name() +
                      "'");
  }
  std::string publications() { return db_->value("SELECT count(*) FROM pg_publication"); }
  std::string quoted_publication() const { return '"' + source_.publication + '"'; }

  std::unique_ptr<postgres_database> db_;
  config::source_config source_;
  std::vector<config::sync_config> sections_{section("public.a")};
};

// -- what is missing is made ----------------------------------------------------------------------

TEST_F(postgres_setup, creates_publication_and_slot_and_finds_them_again) {
  const auto first = must_prepare();

  EXPECT_TRUE(first.slot_created);
  EXPECT_TRUE(first.unproved.empty());
  EXPECT_EQ(first.publications, std::vector{source_.publication});
  ASSERT_EQ(first.tables.size(), 1U);
  EXPECT_EQ(first.tables[0].shape->table, (table_id{"public", "a"}));
  EXPECT_EQ(first.identity.stream, source_.slot_name);
  EXPECT_EQ(first.identity.server, db_->value("SELECT system_identifier FROM pg_control_system()"));
  EXPECT_EQ(first.identity, identify(source_).value());
  EXPECT_EQ(db_->value("SELECT pubviaroot FROM pg_publication"), "t");

  const auto second = must_prepare();

  EXPECT_FALSE(second.slot_created);
  EXPECT_EQ(second.start, first.start);
  EXPECT_EQ(second.publications, first.publications);
}

TEST_F(postgres_setup, begins_the_stream_behind_the_slots_start) {
  const auto made = must_prepare();
  const auto confirmed = db_->value("SELECT confirmed_flush_lsn FROM pg_replication_slots"
                                    " WHERE slot_name = '" +
                                    source_.slot_name + "'");

  EXPECT_EQ(to_lsn(made.start), confirmed);
}

TEST_F(postgres_setup, gates_a_slot_that_was_there_by_all_that_runs) {
  (void)must_prepare();
  auto writer = db_->session();
  const auto begun = postgres_database::sql_on(
      writer, "BEGIN; INSERT INTO a VALUES (1); SELECT pg_current_xact_id()::xid");
  const auto xid = begun.number<std::uint32_t>(0, 0);

  const auto again = must_prepare();

  EXPECT_NE(std::ranges::find(again.unproved, xid), again.unproved.end());
}

TEST_F(postgres_setup, puts_append_only_tables_into_a_publication_that_breaks_no_update) {
  sections_.push_back(section("public.log", true));

  const auto made = must_prepare();

  EXPECT_EQ(made.publications, (std::vector{source_.publication, source_.publication + "_append"}));
  EXPECT_EQ(db_->value("SELECT pubinsert AND pubtruncate AND NOT pubupdate AND NOT pubdelete"
                       " FROM pg_publication WHERE pubname = '" +
                       source_.publication + "_append'"),
            "t");
  db_->sql("INSERT INTO log VALUES ('x'); UPDATE log SET line = 'y'; DELETE FROM log");
  EXPECT_FALSE(must_prepare().slot_created);
}

TEST_F(postgres_setup, needs_only_the_second_publication_for_append_only_tables) {
  sections_ = {section("public.log", true)};

  EXPECT_EQ(must_prepare().publications, std::vector{source_.publication + "_append"});
  EXPECT_EQ(publications(), "1");
}

TEST_F(postgres_setup, publishes_a_table_without_its_heirs) {
  db_->sql("CREATE TABLE heir () INHERITS (a)");

  (void)must_prepare();

  EXPECT_EQ(db_->value("SELECT count(*) FROM pg_publication_rel"), "1");
  EXPECT_FALSE(must_prepare().slot_created);
}

TEST_F(postgres_setup, takes_names_as_they_are) {
  db_->sql(R"(CREATE SCHEMA "my-app"; CREATE TABLE "my-app"."User ""x""" (id int PRIMARY KEY))");
  source_.publication = "My \"pub\"-1";
  sections_ = {pattern({"my-app.*"})};

  const auto made = must_prepare();

  ASSERT_EQ(made.tables.size(), 1U);
  EXPECT_EQ(made.tables[0].shape->table.name, "User \"x\"");
  EXPECT_FALSE(must_prepare().slot_created);
}

TEST_F(postgres_setup, takes_tables_and_roots_by_pattern_and_no_partition) {
  db_->sql("DROP TABLE log; CREATE VIEW v AS SELECT 1 AS x; CREATE UNLOGGED TABLE u (id int "
           "PRIMARY KEY);"
           "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
           "CREATE TABLE p1 PARTITION OF p DEFAULT; CREATE TABLE secret (id int PRIMARY KEY)");
  sections_ = {pattern({"public.*", "!public.s*"}), section("public.b")};

  const auto made = must_prepare();

  std::vector<std::pair<std::string, std::size_t>> chosen;
  for (const auto& each : made.tables)
    chosen.emplace_back(each.shape->table.name, each.section);
  EXPECT_EQ(chosen,
            (std::vector<std::pair<std::string, std::size_t>>{{"a", 0}, {"b", 1}, {"p", 0}}));
}

// -- what a person has to change ------------------------------------------------------------------

TEST_F(postgres_setup, refuses_a_table_whose_rows_the_log_cannot_tell_apart) {
  sections_ = {pattern({"public.*"})};

  expect_refused(
      errc::identity_missing,
      {"public.log", "ALTER TABLE \"public\".\"log\" REPLICA IDENTITY FULL", "append_only"});
  EXPECT_EQ(publications(), "0");
}

TEST_F(postgres_setup, refuses_a_table_whose_identity_is_nothing) {
  db_->sql("ALTER TABLE a REPLICA IDENTITY NOTHING");

  expect_refused(errc::identity_missing, {"public.a", "NOTHING", "append_only"});
}

TEST_F(postgres_setup, refuses_a_partitioned_table_by_the_leaf_that_has_no_identity) {
  db_->sql("CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
           "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
           "CREATE TABLE p2 PARTITION OF p DEFAULT; ALTER TABLE p2 REPLICA IDENTITY NOTHING");
  sections_ = {section("public.p")};

  expect_refused(errc::identity_missing, {"public.p", "public.p2"});
}

TEST_F(postgres_setup, says_what_the_log_does_not_tell_of_partitions) {
  db_->sql("CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
           "CREATE TABLE p1 PARTITION OF p DEFAULT");
  sections_ = {section("public.p"), section("public.a")};

  const auto notes = must_prepare().notes;

  const auto told = [&](const char* start) {
    return std::ranges::any_of(notes,
                               [&](const std::string& each) { return each.starts_with(start); });
  };
  EXPECT_TRUE(told("public.p is partitioned"));
  EXPECT_FALSE(told("public.a is partitioned"));
}

TEST_F(postgres_setup, names_every_mistake_at_once) {
  sections_ = {section("public.nowhere"), section("public.log"), section("public.v")};
  db_->sql("CREATE VIEW v AS SELECT 1 AS x");

  expect_refused(errc::source_misconfigured,
                 {"public.nowhere does not exist", "public.v is a view", "public.log"});
}

TEST_F(postgres_setup, refuses_a_key_whose_old_values_are_not_in_the_log) {
  sections_[0].primary_key = {"v"};

  expect_refused(errc::identity_missing, {"sync.public.a.primary_key",
                                          "ALTER TABLE \"public\".\"a\" REPLICA IDENTITY FULL"});
}

TEST_F(postgres_setup, names_what_a_publication_lacks_and_has_too_much) {
  db_->sql("CREATE PUBLICATION " + quoted_publication() + " FOR TABLE b");
  const auto before = db_->value("SELECT count(*) FROM pg_publication_rel");

  expect_refused(errc::source_misconfigured,
                 {"ALTER PUBLICATION " + quoted_publication() + " ADD TABLE \"public\".\"a\";",
                  "ALTER PUBLICATION " + quoted_publication() + " DROP TABLE \"public\".\"b\";"});
  EXPECT_EQ(db_->value("SELECT count(*) FROM pg_publication_rel"), before);
}

TEST_F(postgres_setup, does_what_its_own_advice_says) {
  db_->sql("CREATE TABLE \"C-d\" (id int PRIMARY KEY)");
  db_->sql("CREATE PUBLICATION " + quoted_publication() + " FOR TABLE b WITH (publish = 'insert')");
  sections_ = {section("public.a"), section("public.C-d")};
  const auto refused = prepare();
  ASSERT_FALSE(refused);
  auto detail = refused.error().detail;

  for (auto at = detail.find("ALTER"); at != std::string::npos; at = detail.find("ALTER", at + 1))
    db_->sql(detail.substr(at, detail.find(';', at) - at));

  EXPECT_TRUE(must_prepare().slot_created);
}

TEST_F(postgres_setup, takes_a_publication_for_all_tables_and_warns_of_what_it_breaks) {
  db_->sql("CREATE PUBLICATION " + quoted_publication() + " FOR ALL TABLES");

  const auto made = must_prepare();

  const auto warns = std::ranges::any_of(made.notes, [](const std::string& each) {
    return each.find("FOR ALL TABLES") != std::string::npos &&
           each.find("public.log") != std::string::npos;
  });
  EXPECT_TRUE(warns);
  EXPECT_EQ(publications(), "1");
}

TEST_F(postgres_setup, refuses_a_row_filter) {
  if (db_->session().server_version() < 150000)
    GTEST_SKIP() << "row filters came with PostgreSQL 15";
  db_->sql("CREATE PUBLICATION " + quoted_publication() + " FOR TABLE a WHERE (id > 5)");

  expect_refused(errc::source_misconfigured, {"filters the rows of public.a"});
}

TEST_F(postgres_setup, refuses_a_publication_that_publishes_leaves) {
  db_->sql("CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
           "CREATE TABLE p1 PARTITION OF p DEFAULT;"
           "CREATE PUBLICATION " +
           quoted_publication() + " FOR TABLE p");
  sections_ = {section("public.p")};

  expect_refused(errc::source_misconfigured, {"SET (publish_via_partition_root = true)"});
}

TEST_F(postgres_setup, copies_only_the_columns_that_are_published) {
  if (db_->session().server_version() < 150000)
    GTEST_SKIP() << "column lists came with PostgreSQL 15";
  db_->sql("CREATE TABLE wide (id int PRIMARY KEY, secret text, v text);"
           "CREATE PUBLICATION " +
           quoted_publication() + " FOR TABLE wide (id, v)");
  sections_ = {section("public.wide")};

  const auto made = must_prepare();

  const auto& columns = made.tables.at(0).shape->columns;
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[1].name, "v");
}

// -- rights ---------------------------------------------------------------------------------------

TEST_F(postgres_setup, names_each_right_that_a_role_lacks) {
  const auto role = db_->role("reader");
  db_->sql("CREATE SCHEMA closed; CREATE TABLE closed.t (id int PRIMARY KEY)");
  source_ = db_->source(role, "secret");
  sections_ = {section("closed.t")};

  expect_refused(errc::permission_denied,
                 {"ALTER ROLE \"" + role + "\" REPLICATION;",
                  "GRANT USAGE ON SCHEMA \"closed\" TO \"" + role + "\";",
                  "GRANT SELECT ON TABLE \"closed\".\"t\" TO \"" + role + "\";",
                  "GRANT CREATE ON DATABASE " + db_->name() + " TO \"" + role + "\"",
                  "CREATE PUBLICATION " + quoted_publication() + " FOR TABLE \"closed\".\"t\""});
}

TEST_F(postgres_setup, lets_a_stronger_role_create_what_a_weak_one_reads) {
  const auto role = db_->role("reader");
  db_->sql("ALTER ROLE " + role + " REPLICATION; GRANT SELECT ON a TO " + role);
  const auto strong = db_->source();
  source_ = db_->source(role, "secret");
  source_.admin_url = strong.url;

  EXPECT_TRUE(must_prepare().slot_created);
}

TEST_F(postgres_setup, refuses_to_load_what_policies_hide) {
  const auto role = db_->role("reader");
  db_->sql("ALTER ROLE " + role + " REPLICATION; GRANT SELECT ON a TO " + role +
           "; ALTER TABLE a ENABLE ROW LEVEL SECURITY");
  const auto strong = db_->source();
  source_ = db_->source(role, "secret");
  source_.admin_url = strong.url;

  expect_refused(errc::permission_denied, {"public.a", "BYPASSRLS"});
}

TEST_F(postgres_setup, says_what_was_wrong_with_password_database_and_host) {
  const auto refused = [&](const std::string& suffix) {
    source_.url = config::secret{db_->source().url.reveal() + suffix};
    return prepare().error();
  };
  const auto is_url = db_->source().url.reveal().find("://") != std::string::npos;
  const std::string sign = is_url ? "&" : " ";

  const auto password = refused(sign + "password=wr0ng-s3cret");
  const auto database = refused(sign + "dbname=nowhere");
  const auto port = refused(sign + "port=1");

  EXPECT_EQ(database.code, errc::source_misconfigured) << database.detail;
  EXPECT_NE(database.detail.find("nowhere"), std::string::npos);
  EXPECT_EQ(port.code, errc::source_unavailable) << port.detail;
  EXPECT_EQ(password.detail.find("s3cret"), std::string::npos);
  if (password.detail.empty())
    GTEST_SKIP() << "the server asks for no password";
  EXPECT_EQ(password.code, errc::permission_denied) << password.detail;
}

// -- slots and positions --------------------------------------------------------------------------

TEST_F(postgres_setup, refuses_a_slot_of_another_plugin) {
  try {
    db_->sql("SELECT pg_create_logical_replication_slot('" + source_.slot_name +
             "', 'test_decoding')");
  } catch (const std::runtime_error&) {
    GTEST_SKIP() << "the server has no test_decoding";
  }
  const auto refused = prepare();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::foreign_stream);
  EXPECT_NE(refused.error().detail.find("test_decoding"), std::string::npos);
}

TEST_F(postgres_setup, refuses_a_slot_of_another_database) {
  postgres_database other;
  source_.slot_name = other.name();
  other.sql("SELECT pg_create_logical_replication_slot('" + other.name() + "', 'pgoutput')");

  const auto refused = prepare();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::foreign_stream);
  EXPECT_NE(refused.error().detail.find(other.name()), std::string::npos);
}

TEST_F(postgres_setup, names_the_process_that_reads_its_slot) {
  (void)must_prepare();
  auto walsender =
      connection::open(conninfo::make(source_, purpose::replication, "test").value()).value();
  (void)walsender.begin_copy("START_REPLICATION SLOT \"" + source_.slot_name +
                                 "\" LOGICAL 0/0 (proto_version '1', publication_names '" +
                                 source_.publication + "')",
                             "stream");

  const auto refused = prepare();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::slot_in_use);
  EXPECT_NE(refused.error().detail.find("pid " + std::to_string(walsender.backend_pid())),
            std::string::npos)
      << refused.error().detail;
}

TEST_F(postgres_setup, refuses_a_target_older_than_the_slot) {
  const auto made = must_prepare();
  db_->sql("INSERT INTO a VALUES (1)");
  const auto later = db_->value("SELECT pg_current_wal_insert_lsn()");
  db_->sql("SELECT pg_replication_slot_advance('" + source_.slot_name + "', '" + later + "')");

  const auto refused = prepare({position{made.start.token}});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::target_stale);
  EXPECT_NE(refused.error().detail.find(to_lsn(made.start)), std::string::npos);
  EXPECT_TRUE(prepare({parse_lsn(later).value()}));
}

TEST_F(postgres_setup, does_not_replace_a_slot_that_a_target_was_fed_from) {
  const auto made = must_prepare();
  db_->sql("SELECT pg_drop_replication_slot('" + source_.slot_name + "')");

  const auto refused = prepare({made.start, std::nullopt});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::position_lost);
  EXPECT_EQ(slots(), "0");
  EXPECT_TRUE(must_prepare({made.start}, true).slot_created);
}

TEST_F(postgres_setup, begins_anew_when_told_to) {
  const auto first = must_prepare();
  db_->sql("INSERT INTO a VALUES (1)");

  const auto second = must_prepare({first.start}, true);

  EXPECT_TRUE(second.slot_created);
  EXPECT_GT(second.start, first.start);
}

TEST_F(postgres_setup, refuses_a_target_beyond_the_end_of_the_log) {
  const auto made = must_prepare();

  const auto refused = prepare({position{made.start.token + (std::uint64_t{1} << 40)}});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::foreign_stream);
}

// -- inspection -----------------------------------------------------------------------------------

TEST_F(postgres_setup, inspects_without_touching_anything) {
  sections_ = {pattern({"public.*"})};
  const auto level = [](finding::level wanted) {
    return [wanted](const finding& each) { return each.severity == wanted; };
  };

  const auto bad = inspect_source(source_, sections_);
  sections_ = {section("public.a"), section("public.log", true)};
  const auto good = inspect_source(source_, sections_);

  EXPECT_EQ(std::ranges::count_if(bad, level(finding::level::bad)), 1);
  EXPECT_EQ(std::ranges::count_if(good, level(finding::level::bad)), 0);
  EXPECT_GE(std::ranges::count_if(good, level(finding::level::good)), 5);
  EXPECT_EQ(slots(), "0");
  EXPECT_EQ(publications(), "0");
  const auto announces = std::ranges::any_of(good, [](const finding& each) {
    return each.text.find("will run: CREATE PUBLICATION") != std::string::npos;
  });
  EXPECT_TRUE(announces);
}

} // namespace

} // namespace cdc::sources::postgres
