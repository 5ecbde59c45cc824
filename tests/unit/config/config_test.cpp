#include <algorithm>

#include "tests/unit/config/reading.hpp"

namespace cdc::config {

TEST(config, reads_the_smallest_file_with_the_defaults_of_pg2osync) {
  const auto out = accepted(with(""));

  EXPECT_EQ(out.source.name, "cdc");
  EXPECT_EQ(out.source.url_from, "$DATABASE_URL");
  EXPECT_EQ(out.source.slot_name, "pg2osync");
  EXPECT_EQ(out.source.publication, "pg2osync_pub");
  EXPECT_EQ(out.source.reconnect_max, 10u);
  EXPECT_EQ(out.source.reconnect_backoff, std::chrono::seconds{1});
  EXPECT_EQ(out.source.load_workers, 1u);
  EXPECT_EQ(out.source.load_chunk_rows, 50'000u);
  EXPECT_EQ(out.engine.batch_size, 500u);
  EXPECT_EQ(out.engine.batch_max_bytes, 10'485'760u);
  EXPECT_EQ(out.engine.write_concurrency, 1u);
  EXPECT_EQ(out.engine.retry_max, 10u);
  EXPECT_EQ(out.engine.retry_backoff, std::chrono::milliseconds{500});
  EXPECT_EQ(out.engine.checkpoint_interval, std::chrono::milliseconds{500});
  EXPECT_FALSE(out.engine.load_max_rows_per_sec);
  EXPECT_FALSE(out.engine.retry_max_elapsed);
  EXPECT_FALSE(out.engine.halted_retry);
  EXPECT_EQ(out.metrics, listener_config{});
  EXPECT_EQ(out.log, log_config{});
  EXPECT_TRUE(out.notes.empty());
}

TEST(config, reports_every_mistake_at_once_where_it_stands) {
  const auto text = "[source]\n"
                    "url = 3\n"
                    "load_workers = \"two\"\n"
                    "[target]\n"
                    "flavor = \"sqlite\"\n"
                    "path = \"a.db\"\n"
                    "[engine]\n"
                    "batch_size = 0\n"
                    "batchsize = 5\n"
                    "[sync.orders]\n"
                    "table = \"orders\"\n";

  EXPECT_EQ(refused(text),
            "cdc.toml:2:7: source.url: expected a string\n"
            "cdc.toml:3:16: source.load_workers: expected an integer from 1 to 64\n"
            "cdc.toml:8:14: engine.batch_size: expected an integer from 1 to 1000000\n"
            "cdc.toml:9:1: engine.batchsize: no such option; did you mean engine.batch_size?\n"
            "cdc.toml:11:9: sync.orders.table: expected schema.table, a part with a dot in double "
            "quotes");
}

TEST(config, reports_every_missing_section_of_an_empty_file) {
  EXPECT_EQ(refused(""), "cdc.toml:1:1: source: this section is missing\n"
                         "cdc.toml:1:1: sync: no table is chosen: at least one [sync.<key>] is "
                         "needed\n"
                         "cdc.toml:1:1: target: this section is missing");
}

TEST(config, says_where_a_text_stops_being_toml) {
  EXPECT_EQ(refused("[source]\nurl = \n").substr(0, 34), "cdc.toml:2:7: not valid TOML: Erro");
}

TEST(config, does_not_repeat_what_the_toml_parser_stumbled_over) {
  std::ignore = refused("[source]\nurl = hunter2\n");
  std::ignore = refused("[source]\nurl = thunter2\n");
  std::ignore = refused("[source]\nurl = 'hunter2\n");
  std::ignore = refused("[source]\nurl = 0xhunter2\n");
  std::ignore = refused("[source]\nurl = \"it's 'hunter2\" x\n");
  const auto too_long = refused("[source]\nurl = 99999999999999999999\n");
  EXPECT_EQ(too_long.find("9999"), std::string::npos) << too_long;
}

TEST(config, suggests_the_nearest_option_for_an_unknown_one) {
  EXPECT_EQ(refused(with("colums = [\"id\"]\n")),
            "cdc.toml:8:1: sync.orders.colums: no such option; did you mean sync.orders.columns?");
  EXPECT_EQ(refused(with("exclude = [\"id\"]\n")),
            "cdc.toml:8:1: sync.orders.exclude: no such option; did you mean "
            "sync.orders.exclude_columns?");
  EXPECT_EQ(refused(with("tabels = 1\n")),
            "cdc.toml:8:1: sync.orders.tabels: no such option; did you mean sync.orders.tables?");
  EXPECT_EQ(refused(with("[metricz]\n")),
            "cdc.toml:8:1: metricz: no such option; did you mean metrics?");
  EXPECT_EQ(refused(with("quux_zyzzy = 1\n")), "cdc.toml:8:1: sync.orders.quux_zyzzy: no such "
                                               "option");
}

TEST(config, refuses_to_put_rows_aside_where_there_is_no_place_for_them) {
  EXPECT_NE(refused(with("[engine]\non_permanent_rejection = \"quarantine\"\n"))
                .find("engine.on_permanent_rejection: \"quarantine\" is for opensearch"),
            std::string::npos);
}

TEST(config, refuses_by_name_what_is_known_and_not_supported_yet) {
  for (const auto* key : {"id", "fan_out", "join", "transform", "where", "poll_column",
                          "soft_delete", "routing", "children", "aggregates"})
    EXPECT_EQ(refused(with(std::string{key} + " = \"x\"\n")),
              "cdc.toml:8:" + std::to_string(std::string{key}.size() + 4) + ": sync.orders." + key +
                  ": not supported yet");
  EXPECT_EQ(refused(with("[spool]\n")), "cdc.toml:8:1: spool: not supported yet");
}

TEST(config, reports_a_list_of_tables_that_is_not_supported_yet) {
  EXPECT_EQ(refused(with("[[sync.orders.children]]\ntable = \"public.lines\"\n")),
            "cdc.toml:8:1: sync.orders.children: not supported yet");
}

TEST(config, reports_a_section_that_is_no_table) {
  EXPECT_EQ(refused("source = 3\nsync = [1]\ntarget = \"x\"\n"),
            "cdc.toml:1:10: source: expected a table\n"
            "cdc.toml:2:8: sync: expected a table\n"
            "cdc.toml:3:10: target: expected a table");
  EXPECT_EQ(refused(std::string{source_lines} + target_lines + "[sync]\norders = 1\n"),
            "cdc.toml:7:10: sync.orders: expected a table");
}

TEST(config, reads_the_engine) {
  const auto out = accepted(with("[engine]\nbatch_size = 100\nbatch_max_bytes = 1000\n"
                                 "load_max_rows_per_sec = 5\nretry_max = 0\nretry_backoff_ms = 7\n"
                                 "retry_max_elapsed_ms = 9\ncheckpoint_interval_ms = 100\n"
                                 "halted_retry_secs = 60\non_permanent_rejection = \"halt\"\n"))
                       .engine;

  EXPECT_EQ(out.batch_size, 100u);
  EXPECT_EQ(out.batch_max_bytes, 1000u);
  EXPECT_EQ(out.load_max_rows_per_sec, 5u);
  EXPECT_EQ(out.retry_max, 0u);
  EXPECT_EQ(out.retry_backoff, std::chrono::milliseconds{7});
  EXPECT_EQ(out.retry_max_elapsed, std::chrono::milliseconds{9});
  EXPECT_EQ(out.checkpoint_interval, std::chrono::milliseconds{100});
  EXPECT_EQ(out.halted_retry, std::chrono::seconds{60});
}

TEST(config, refuses_numbers_that_would_stop_the_engine) {
  for (const auto* line :
       {"batch_size = 0", "batch_max_bytes = 0", "write_concurrency = 0",
        "load_max_rows_per_sec = 0", "retry_max_elapsed_ms = 0", "checkpoint_interval_ms = 99",
        "halted_retry_secs = 0", "txn_buffer_cap_mb = 0", "retry_backoff_ms = -1",
        "batch_size = 1.5", "retry_max = true"})
    EXPECT_NE(
        refused(with(std::string{"[engine]\n"} + line + "\n")).find("expected an integer from"),
        std::string::npos)
        << line;
}

TEST(config, refuses_concurrent_writes_that_would_do_nothing) {
  EXPECT_EQ(refused(with("[engine]\nwrite_concurrency = 2\n")),
            "cdc.toml:9:21: engine.write_concurrency: more than 1 does nothing here: sqlite, "
            "ndjson and null take one write at a time");
  EXPECT_EQ(accepted(with("[engine]\nwrite_concurrency = 1\n")).engine.write_concurrency, 1u);
  const auto documents = std::string{source_lines} + "[target]\nurl = \"http://h\"\n" + sync_lines;
  EXPECT_EQ(accepted(documents + "[engine]\nwrite_concurrency = 8\n").engine.write_concurrency, 8u);
}

TEST(config, accepts_a_transaction_buffer_with_a_note) {
  const auto out = accepted(with("[engine]\ntxn_buffer_cap_mb = 256\n"));

  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_EQ(out.notes[0], "cdc.toml:9:21: engine.txn_buffer_cap_mb: has no effect: transactions "
                          "pass through and none is buffered");
}

TEST(config, reads_where_the_metrics_listen) {
  variables()["TOKEN"] = "hunter2";
  const auto out = accepted(with("[metrics]\nbind = \"[::1]:0\"\ntoken_env = \"TOKEN\"\n")).metrics;

  EXPECT_EQ(out.host, "::1");
  EXPECT_EQ(out.port, 0u);
  ASSERT_TRUE(out.token);
  EXPECT_EQ(out.token->reveal(), "hunter2");
  EXPECT_FALSE(accepted(with("[metrics]\nenabled = false\n")).metrics.enabled);
}

TEST(config, refuses_a_bind_that_is_no_address) {
  for (const auto* bind : {"9100", ":9100", "127.0.0.1:", "127.0.0.1:65536", "::1:9100", "a:1x"})
    EXPECT_EQ(refused(with("[metrics]\nbind = \"" + std::string{bind} + "\"\n")),
              "cdc.toml:9:8: metrics.bind: expected host:port, with an IPv6 address in brackets");
}

TEST(config, notes_metrics_that_are_open_to_other_machines) {
  EXPECT_EQ(accepted(with("[metrics]\nbind = \"0.0.0.0:9100\"\n")).notes.size(), 1u);
  EXPECT_TRUE(
      accepted(with("[metrics]\nbind = \"0.0.0.0:9100\"\ntoken_env = \"TOKEN\"\n")).notes.empty());
  EXPECT_TRUE(
      accepted(with("[metrics]\nbind = \"0.0.0.0:9100\"\nenabled = false\n")).notes.empty());
}

TEST(config, reads_the_log_by_area) {
  const auto out = accepted(with("[log]\nformat = \"json\"\nlevel = \"warn\"\n"
                                 "[log.areas]\nengine = \"trace\"\nsink = \"off\"\n"))
                       .log;

  EXPECT_EQ(out.format, log_config::form::json);
  EXPECT_EQ(out.level, "warn");
  EXPECT_EQ(out.areas, (std::map<std::string, std::string>{{"engine", "trace"}, {"sink", "off"}}));
}

TEST(config, reads_a_log_filter_with_the_targets_of_pg2osync) {
  const auto out =
      accepted(with("[log]\nfilter = \"warn, pg2osync::backfill=debug,engine=trace\"\n")).log;

  EXPECT_EQ(out.level, "warn");
  EXPECT_EQ(out.areas,
            (std::map<std::string, std::string>{{"load", "debug"}, {"engine", "trace"}}));
}

TEST(config, refuses_a_log_that_cannot_be) {
  for (const auto* lines : {"filter = \"loud\"", "filter = \"nowhere=info\"",
                            "filter = \"engine=\"", "level = \"loud\"", "format = \"xml\"",
                            "areas = 3", "filter = \",\"", "filter = \"info\"\nlevel = \"info\"",
                            "[log.areas]\nnowhere = \"info\"", "[log.areas]\nengine = \"loud\""})
    EXPECT_NE(refused(with(std::string{"[log]\n"} + lines + "\n")).find("log."), std::string::npos);
}

TEST(config, knows_options_of_every_section) {
  const auto known = known_options();
  const auto knows = [&](const char* section, const char* key, bool supported) {
    return std::ranges::find(known, known_option{section, key, supported}) != known.end();
  };

  EXPECT_TRUE(knows("", "source", true));
  EXPECT_TRUE(knows("", "cluster", false));
  EXPECT_TRUE(knows("source", "sslrootcert", true));
  EXPECT_TRUE(knows("source", "poll_column", false));
  EXPECT_TRUE(knows("sink", "name", true));
  EXPECT_TRUE(knows("target", "numeric", true));
  EXPECT_TRUE(knows("engine", "txn_buffer_cap_mb", true));
  EXPECT_TRUE(knows("metrics", "token_env", true));
  EXPECT_TRUE(knows("api", "bind", true));
  EXPECT_TRUE(knows("log.areas", "engine", true));
  EXPECT_TRUE(knows("sync", "constants", true));
  EXPECT_TRUE(knows("sync", "children", false));
}

} // namespace cdc::config
