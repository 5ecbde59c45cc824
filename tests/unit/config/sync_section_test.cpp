#include "config/table_pattern.hpp"
#include "tests/unit/config/reading.hpp"

namespace cdc::config {

namespace {

std::string syncs(const std::string& lines, const std::string& target = target_lines) {
  return source_lines + target + lines;
}

sync_config section(const std::string& lines) {
  const auto out = accepted(syncs("[sync.a]\n" + lines)).syncs;
  return out.empty() ? sync_config{} : out[0];
}

/// The mistakes of one section without their places.
std::string mistakes_of(const std::string& lines) {
  auto text = refused(syncs("[sync.a]\n" + lines));
  return text.substr(text.find("sync.a"));
}

sync_config choosing(std::vector<std::string> patterns) {
  sync_config out;
  out.is_pattern = true;
  out.tables = std::move(patterns);
  return out;
}

} // namespace

TEST(sync_section, reads_one_table) {
  const auto out = section("table = \"public.orders\"\ninto = \"o\"\n");

  EXPECT_EQ(out.key, "a");
  EXPECT_EQ(out.table, (table_id{"public", "orders"}));
  EXPECT_EQ(out.tables, std::vector<std::string>{"public.orders"});
  EXPECT_EQ(out.into, "o");
  EXPECT_FALSE(out.is_pattern);
}

TEST(sync_section, keeps_the_order_of_the_file) {
  const auto out = accepted(syncs("[sync.z]\ntable = \"p.z\"\n[sync.b]\ntable = \"p.b\"\n"
                                  "[sync.m]\ntable = \"p.m\"\n"))
                       .syncs;

  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].key, "z");
  EXPECT_EQ(out[1].key, "b");
  EXPECT_EQ(out[2].key, "m");
}

TEST(sync_section, reads_quoted_names) {
  EXPECT_EQ(section("table = '\"a.b\".\"c\"\"d*\"'\n").table, (table_id{"a.b", "c\"d*"}));
  EXPECT_EQ(section("table = 'My-Schema.Order \"X\"'\n").table,
            (table_id{"My-Schema", "Order \"X\""}));
}

TEST(sync_section, refuses_names_without_a_schema) {
  for (const auto* name : {"orders", ".orders", "public.", "a.b.c", "\"a.b", "!a.b", "a.\"b\"c"})
    EXPECT_NE(mistakes_of("table = '" + std::string{name} + "'\n").find("sync.a.table: "),
              std::string::npos)
        << name;
  EXPECT_EQ(mistakes_of("table = \"public.*\"\n"),
            "sync.a.table: names one table; patterns belong in tables = [\"…\"]");
}

TEST(sync_section, wants_table_or_tables_and_not_both) {
  EXPECT_EQ(mistakes_of("columns = [\"id\"]\n"), "sync.a.table: table or tables is required");
  EXPECT_EQ(mistakes_of("table = \"a.b\"\ntables = [\"a.*\"]\n"),
            "sync.a.tables: table and tables exclude each other");
}

TEST(sync_section, reads_patterns) {
  const auto out = section("tables = [\"public.*\", \"!public.audit_*\"]\n");

  EXPECT_TRUE(out.is_pattern);
  EXPECT_TRUE(selects(out, "public", "orders"));
  EXPECT_FALSE(selects(out, "public", "audit_log"));
}

TEST(sync_section, refuses_patterns_that_choose_nothing) {
  EXPECT_EQ(mistakes_of("tables = []\n"),
            "sync.a.tables: chooses no table: at least one pattern without ! is needed");
  EXPECT_EQ(mistakes_of("tables = [\"!public.*\"]\n"),
            "sync.a.tables: chooses no table: at least one pattern without ! is needed");
  EXPECT_EQ(mistakes_of("tables = [\"public.*\", \"orders\"]\n"),
            "sync.a.tables: expected patterns such as \"public.*\" and \"!public.audit_*\"");
  EXPECT_EQ(mistakes_of("tables = [\"a.*\", \"a.*\"]\n"), "sync.a.tables: is listed twice");
  EXPECT_EQ(mistakes_of("tables = [\"a.*\", 3]\n"), "sync.a.tables: expected a string");
  EXPECT_EQ(mistakes_of("tables = [\"a.*\"]\ninto = \"x\"\n"),
            "sync.a.into: names one target table and tables chooses many");
}

TEST(sync_section, lets_the_last_matching_pattern_decide) {
  const auto out = choosing({"public.*", "!public.a*", "public.audit"});

  EXPECT_TRUE(selects(out, "public", "orders"));
  EXPECT_FALSE(selects(out, "public", "apples"));
  EXPECT_TRUE(selects(out, "public", "audit"));
  EXPECT_FALSE(selects(out, "private", "orders"));
}

TEST(sync_section, matches_stars_anywhere) {
  const auto out = choosing({"s*a.*o*r*"});

  EXPECT_TRUE(selects(out, "sa", "or"));
  EXPECT_TRUE(selects(out, "schema", "floor"));
  EXPECT_TRUE(selects(out, "saa", "oorrx"));
  EXPECT_FALSE(selects(out, "sab", "or"));
  EXPECT_FALSE(selects(out, "sa", "ro"));
  EXPECT_FALSE(selects(out, "sa", ""));
}

TEST(sync_section, takes_a_quoted_star_for_itself) {
  EXPECT_TRUE(selects(choosing({"p.\"a*\""}), "p", "a*"));
  EXPECT_FALSE(selects(choosing({"p.\"a*\""}), "p", "ab"));
}

TEST(sync_section, never_chooses_the_servers_own_tables_by_pattern) {
  const auto out = choosing({"*.*"});

  EXPECT_TRUE(selects(out, "public", "orders"));
  EXPECT_FALSE(selects(out, "pg_catalog", "pg_class"));
  EXPECT_FALSE(selects(out, "information_schema", "tables"));
}

TEST(sync_section, chooses_an_exact_name_exactly) {
  const auto out = section("table = \"public.orders\"\n");

  EXPECT_TRUE(selects(out, "public", "orders"));
  EXPECT_FALSE(selects(out, "public", "Orders"));
  EXPECT_FALSE(selects(out, "public", "orders2"));
}

TEST(sync_section, refuses_two_sections_for_one_table) {
  EXPECT_EQ(refused(syncs("[sync.a]\ntable = \"p.t\"\n[sync.b]\ntable = \"p.t\"\ninto = \"x\"\n")),
            "cdc.toml:8:1: sync.b.table: sync.a takes this table already");
}

TEST(sync_section, names_the_index_of_a_document_target) {
  const auto sync = [](const std::string& lines) {
    return std::string{source_lines} +
           "[target]\nurl = \"http://h\"\n[sync.orders]\ntable = \"p.T\"\n" + lines;
  };
  EXPECT_EQ(accepted(sync("")).syncs[0].into, "orders");
  EXPECT_EQ(accepted(sync("index = \"o-1\"\n")).syncs[0].into, "o-1");
  const auto out = accepted(sync("mapping_file = \"m.json\"\npipeline = \"p\"\n")).syncs[0];
  EXPECT_EQ(out.mapping_file, "m.json");
  EXPECT_EQ(out.pipeline, "p");
  EXPECT_EQ(
      refused(sync("index = \"a\"\ninto = \"b\"\n")),
      "cdc.toml:7:9: sync.orders.index: into and index exclude each other: they are one thing");
  for (const auto* name : {"Orders", "1a", "_a", "a.b", "ä"})
    EXPECT_NE(
        refused(sync("index = \"" + std::string{name} + "\"\n")).find("an index has a name of"),
        std::string::npos)
        << name;
}

TEST(sync_section, refuses_what_only_document_targets_have) {
  EXPECT_EQ(mistakes_of("table = \"p.t\"\nindex = \"x\"\n"),
            "sync.a.index: is for document targets; name a table with into");
  EXPECT_EQ(mistakes_of("table = \"p.t\"\npipeline = \"x\"\n"),
            "sync.a.pipeline: is for document targets; it does nothing for this one");
}

TEST(sync_section, refuses_two_sections_into_one_target_table) {
  const auto text = "[sync.a]\ntable = \"p.t\"\n[sync.b]\ntable = \"q.u\"\ninto = \"T\"\n";
  EXPECT_EQ(refused(syncs(text)),
            "cdc.toml:8:1: sync.b.into: sync.a writes to this target table already; give one of "
            "the two another name with into");
  // Only SQLite takes t and T for one.
  EXPECT_EQ(accepted(syncs(text, "[target]\nflavor = \"null\"\n")).syncs.size(), 2u);
}

TEST(sync_section, keeps_its_own_tables_for_itself) {
  EXPECT_EQ(mistakes_of("table = \"a.b\"\ninto = \"_CDC_checkpoint\"\n"),
            "sync.a.into: names that begin with _cdc_ are kept for the checkpoint");
}

TEST(sync_section, reads_a_projection) {
  const auto some = section("table = \"a.b\"\ncolumns = [\"id\", \"x\"]\n");
  EXPECT_EQ(some.columns, (std::vector<std::string>{"id", "x"}));
  const auto most = section("table = \"a.b\"\nexclude_columns = [\"x\"]\n");
  EXPECT_EQ(most.exclude_columns, std::vector<std::string>{"x"});
}

TEST(sync_section, refuses_a_projection_that_cannot_be) {
  EXPECT_EQ(mistakes_of("table = \"a.b\"\ncolumns = [\"x\"]\nexclude_columns = [\"y\"]\n"),
            "sync.a.exclude_columns: columns and exclude_columns exclude each other");
  EXPECT_EQ(mistakes_of("table = \"a.b\"\ncolumns = []\n"), "sync.a.columns: must name a column");
  EXPECT_EQ(mistakes_of("table = \"a.b\"\ncolumns = \"id\"\n"),
            "sync.a.columns: expected a list of strings");
  EXPECT_EQ(mistakes_of("table = \"a.b\"\ncolumns = [\"id\", \"id\"]\n"),
            "sync.a.columns: is listed twice");
}

TEST(sync_section, reads_a_key_of_one_or_more_columns) {
  EXPECT_EQ(section("table = \"a.b\"\nprimary_key = \"id\"\n").primary_key,
            std::vector<std::string>{"id"});
  EXPECT_EQ(section("table = \"a.b\"\nprimary_key = [\"x\", \"y\"]\n").primary_key,
            (std::vector<std::string>{"x", "y"}));
}

TEST(sync_section, refuses_a_key_that_is_not_written) {
  EXPECT_EQ(mistakes_of("table = \"a.b\"\nprimary_key = \"id\"\nexclude_columns = [\"id\"]\n"),
            "sync.a.primary_key: a column of the key is excluded");
  EXPECT_EQ(mistakes_of("table = \"a.b\"\nprimary_key = \"id\"\ncolumns = [\"x\"]\n"),
            "sync.a.primary_key: a column of the key is excluded");
  EXPECT_EQ(mistakes_of("table = \"a.b\"\nprimary_key = []\n"),
            "sync.a.primary_key: must name a column");
  EXPECT_EQ(mistakes_of("table = \"a.b\"\nprimary_key = 3\n"),
            "sync.a.primary_key: expected a string");
}

TEST(sync_section, refuses_a_key_on_an_append_only_table) {
  EXPECT_TRUE(section("table = \"a.b\"\nappend_only = true\n").append_only);
  EXPECT_EQ(mistakes_of("table = \"a.b\"\nappend_only = true\nprimary_key = \"id\"\n"),
            "sync.a.primary_key: append_only tables have no key");
}

TEST(sync_section, reads_renames) {
  const auto out = section("table = \"a.b\"\nfields = { x = \"y\", y = \"x\" }\n");

  EXPECT_EQ(out.fields, (std::map<std::string, std::string>{{"x", "y"}, {"y", "x"}}));
}

TEST(sync_section, refuses_renames_that_cannot_be) {
  const auto rename = [](const std::string& lines) {
    return mistakes_of("table = \"a.b\"\n" + lines);
  };

  EXPECT_EQ(rename("fields = { x = \"\" }\n"),
            "sync.a.fields.x: a column's name must not be empty");
  EXPECT_EQ(rename("fields = { x = 3 }\n"),
            "sync.a.fields.x: expected the column's name at the target");
  EXPECT_EQ(rename("fields = { x = \"x\" }\n"),
            "sync.a.fields.x: renames the column to the name it has");
  EXPECT_EQ(rename("fields = { x = \"z\", y = \"Z\" }\n"),
            "sync.a.fields.y: two columns get one name");
  EXPECT_EQ(rename("exclude_columns = [\"x\"]\nfields = { x = \"z\" }\n"),
            "sync.a.fields.x: renames a column that is not written");
  EXPECT_EQ(rename("columns = [\"id\"]\nfields = { x = \"z\" }\n"),
            "sync.a.fields.x: renames a column that is not written");
  EXPECT_EQ(rename("columns = [\"id\", \"x\"]\nfields = { x = \"id\" }\n"),
            "sync.a.fields.x: a column that is written has this name already");
  EXPECT_EQ(rename("fields = [\"x\"]\n"), "sync.a.fields: expected a table");
}

TEST(sync_section, reads_constants_with_their_kinds) {
  const auto out =
      section("table = \"a.b\"\n[sync.a.constants]\ns = \"{schema}.{table}\"\ni = -5\nf = 1.5\n"
              "t = true\nn = nan\nm = -inf\n")
          .constants;

  EXPECT_EQ(out.at("s"), (constant{"{schema}.{table}", kind::text}));
  EXPECT_EQ(out.at("i"), (constant{"-5", kind::integer}));
  EXPECT_EQ(out.at("f"), (constant{"1.5", kind::floating}));
  EXPECT_EQ(out.at("t"), (constant{"t", kind::boolean}));
  EXPECT_EQ(out.at("n"), (constant{"NaN", kind::floating}));
  EXPECT_EQ(out.at("m"), (constant{"-Infinity", kind::floating}));
}

TEST(sync_section, refuses_constants_that_cannot_be) {
  const auto constants = [](const std::string& lines) {
    return mistakes_of("table = \"a.b\"\n" + lines);
  };

  EXPECT_EQ(constants("constants = { c = 2026-01-01 }\n"),
            "sync.a.constants.c: expected a string, a number, true or false");
  EXPECT_EQ(constants("constants = { c = [1] }\n"),
            "sync.a.constants.c: expected a string, a number, true or false");
  for (const auto* text : {"{id}", "{schema", "}", "{{table}}", "{ table }"})
    EXPECT_EQ(constants("constants = { c = \"" + std::string{text} + "\" }\n"),
              "sync.a.constants.c: only {schema} and {table} are filled in");
  EXPECT_EQ(constants("columns = [\"id\"]\nconstants = { ID = 1 }\n"),
            "sync.a.constants.ID: a column that is written has this name already");
  EXPECT_EQ(constants("fields = { x = \"c\" }\nconstants = { c = 1 }\n"),
            "sync.a.constants.c: a column that is written has this name already");
}

TEST(sync_section, refuses_a_key_that_messages_could_not_name) {
  EXPECT_NE(refused(syncs("[sync.\"a b\"]\ntable = \"a.b\"\n")).find("a section's key is made of"),
            std::string::npos);
}

TEST(table_pattern, writes_names_that_it_reads_back) {
  for (const auto& table : {table_id{"public", "orders"}, table_id{"a.b", "c\"d"},
                            table_id{"!x", "*"}, table_id{"a b", "Ü"}})
    EXPECT_EQ(parse_table_name(write_table_name(table)), table);
  EXPECT_EQ(write_table_name({"public", "orders"}), "public.orders");
}

} // namespace cdc::config
