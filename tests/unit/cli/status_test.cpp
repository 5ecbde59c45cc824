#include "cli/commands/status.hpp"

#include <gtest/gtest.h>

#include "cli/commands/validate.hpp"

namespace cdc::cli {

namespace {

using sources::log_pressure;
using sources::postgres::log_standing;
using sources::postgres::slot_state;

constexpr auto now = std::chrono::sys_days{std::chrono::year{2026} / 5 / 1};

slot_state slot(const std::string& name, std::uint64_t confirmed) {
  slot_state out;
  out.name = name;
  out.plugin = "pgoutput";
  out.database = "shop";
  out.confirmed = {confirmed};
  out.pressure = {log_pressure::state::reserved, 20 << 10};
  return out;
}

target_status sqlite(std::optional<std::uint64_t> at) {
  target_status out;
  out.name = "target";
  out.flavor = "sqlite";
  out.path = "shop.db";
  if (at)
    out.resume = position{*at};
  return out;
}

pipeline_status status(std::vector<target_status> targets) {
  pipeline_status out;
  out.name = "shop";
  out.file = "cdc.toml";
  out.slot = "cdc_shop";
  out.log =
      log_standing{{"postgres", "7", "cdc_shop", "shop", "pub"}, {slot("cdc_shop", 100)}, {200}};
  out.targets = std::move(targets);
  return out;
}

} // namespace

TEST(status, has_reached_a_goal_when_every_target_has) {
  const goal wanted{{200}, {}};

  EXPECT_TRUE(has_reached(status({sqlite(200)}), wanted));
  EXPECT_TRUE(has_reached(status({sqlite(300), sqlite(200)}), wanted));
  EXPECT_FALSE(has_reached(status({sqlite(200), sqlite(199)}), wanted));
  EXPECT_FALSE(has_reached(status({sqlite(std::nullopt)}), wanted));
}

TEST(status, has_not_caught_up_while_a_table_is_loading) {
  auto target = sqlite(200);
  target.tables_begun = 2;
  target.loaded = {"a"};
  EXPECT_FALSE(has_reached(status({target}), {{200}, {}}));

  target.loaded = {"a", "b"};
  EXPECT_TRUE(has_reached(status({target}), {{200}, {"a", "b"}}));
  EXPECT_FALSE(has_reached(status({target}), {{200}, {"a", "c"}}));
}

TEST(status, counts_a_target_without_a_checkpoint_by_the_slot) {
  target_status null;
  null.flavor = "null";
  null.keeps_checkpoint = false;

  EXPECT_TRUE(has_reached(status({null}), {{100}, {}}));
  EXPECT_FALSE(has_reached(status({null}), {{101}, {}}));
  auto without_slot = status({null});
  without_slot.log->slots.clear();
  EXPECT_FALSE(has_reached(without_slot, {{100}, {}}));
}

TEST(status, says_where_each_target_is) {
  auto target = sqlite(0x1'0000'00C8);
  target.behind = 20 << 10;
  target.written_at = std::chrono::duration_cast<std::chrono::microseconds>(
                          (now - std::chrono::seconds{5}).time_since_epoch())
                          .count();
  target.tables_begun = 2;
  target.loaded = {"a"};
  target.listed = 3;

  EXPECT_EQ(to_text(status({target}), now),
            "shop (cdc.toml)\n"
            "  source: database shop, log at 0/C8\n"
            "  target: sqlite shop.db at 1/C8, 20 kB behind, written 5 s ago, loading: 1 of 2 "
            "tables done, 3 rows to be read again\n"
            "  slot cdc_shop (ours): nobody reads it, retains 20 kB of log, reserved, confirmed "
            "0/64\n");
}

TEST(status, explains_slots_that_are_lost_or_nobodys) {
  auto out = status({sqlite(std::nullopt)});
  out.log->slots[0].pressure.status = log_pressure::state::lost;
  out.log->slots.push_back(slot("it's", 1));
  const auto text = to_text(out, now);

  EXPECT_NE(text.find("run --fresh-slot-and-load"), std::string::npos);
  EXPECT_NE(text.find("SELECT pg_drop_replication_slot('it''s');"), std::string::npos);
  EXPECT_NE(text.find("no checkpoint yet; a run begins with the load"), std::string::npos);
}

TEST(status, tells_how_the_source_is_read) {
  auto out = status({sqlite(200)});
  out.log->slots[0].active_pid = 7;
  EXPECT_NE(to_text(out, now).find("log at 0/C8, stream\n"), std::string::npos);

  out.targets[0].tables_begun = 1;
  EXPECT_NE(to_text(out, now).find("log at 0/C8, load\n"), std::string::npos);

  out.log->slots[0].active_pid.reset();
  out.log->slots.push_back(slot("cdc_shop_catch_up", 150));
  out.log->slots[1].is_temporary = true;
  out.log->slots[1].active_pid = 8;
  const auto text = to_text(out, now);
  EXPECT_NE(text.find("log at 0/C8, catch-up, 50 bytes left\n"), std::string::npos) << text;
  EXPECT_NE(text.find("slot cdc_shop_catch_up (ours, for the while of a catch-up): pid 8 reads it"),
            std::string::npos)
      << text;
  EXPECT_NE(to_json({out}).find(R"("reading":"catch-up","bytes_left":50)"), std::string::npos);

  out.log->slots[1].is_temporary = false;
  EXPECT_EQ(to_text(out, now).find("catch-up,"), std::string::npos) << "not one of ours";
}

TEST(status, names_what_could_not_be_read) {
  auto out = status({sqlite(1)});
  out.targets[0].error = "the file is not a database";
  out.log.reset();
  out.error = "h:5432 does not answer";

  EXPECT_EQ(to_text(out, now), "shop (cdc.toml)\n"
                               "  source: h:5432 does not answer\n"
                               "  target: sqlite shop.db: the file is not a database\n");
}

TEST(status, writes_json_that_a_script_reads) {
  auto target = sqlite(200);
  target.behind = 0;
  target.written_at = 1'700'000'000'000'000;

  EXPECT_EQ(
      to_json({status({target})}),
      R"({"pipelines":[{"name":"shop","file":"cdc.toml","source":{"system_identifier":"7",)"
      R"("database":"shop","slot":"cdc_shop","position":"0/C8","reading":"none","bytes_left":100},)"
      R"("caught_up":true,)"
      R"("targets":[{"name":"target","flavor":"sqlite","path":"shop.db","position":"0/C8",)"
      R"("behind_bytes":0,"written_at":"2023-11-14T22:13:20Z","tables_loaded":0,)"
      R"("tables_begun":0,"rows_to_read_again":0}],"slots":[{"name":"cdc_shop","ours":true,)"
      R"("temporary":false,"plugin":"pgoutput","database":"shop","active":false,"confirmed":"0/64",)"
      R"("retained_bytes":20480,"wal_status":"reserved"}]}]})"
      "\n");
}

namespace {

pipeline_status mysql_status(std::vector<target_status> targets) {
  sources::mysql::binlog_standing log;
  log.identity = {"mysql", "uuid", "7", "shop", {}};
  log.version = {.is_mariadb = false, .number = 90'704, .text = "9.7.4"};
  log.at = sources::mysql::coordinates::starting_in("bin.000002").value();
  log.files = {{"bin.000002", 30 << 10}, {"bin.000003", 500}};
  log.end = log.at.token("bin.000003", 500).value();
  log.kept = std::chrono::days{7};
  pipeline_status out;
  out.name = "shop";
  out.file = "cdc.toml";
  out.source = config::source_config::flavor::mysql;
  out.slot = "7";
  out.binlog = std::move(log);
  out.targets = std::move(targets);
  return out;
}

std::uint64_t place(std::string_view file, std::uint64_t offset) {
  return mysql_status({}).binlog->at.token(file, offset).value().token;
}

} // namespace

TEST(status, shows_a_binlog_and_what_is_needed_of_it) {
  auto target = sqlite(place("bin.000002", 10 << 10));
  target.behind = (20 << 10) + 500;
  target.behind_time = std::chrono::seconds{12};

  EXPECT_EQ(
      to_text(mysql_status({target}), now),
      "shop (cdc.toml)\n"
      "  source: MySQL 9.7.4, log at bin.000003:500\n"
      "  target: sqlite shop.db at bin.000002:10240, 20 kB behind, the oldest change 12 s old\n"
      "  log: 2 files from bin.000002 on, 30 kB, kept for 7 d 0 h; needed from bin.000002:10240 "
      "on, "
      "20 kB\n");
  EXPECT_EQ(to_json({mysql_status({target})}),
            R"({"pipelines":[{"name":"shop","file":"cdc.toml","source":{"server":"uuid",)"
            R"("version":"MySQL 9.7.4","database":"shop","server_id":"7",)"
            R"("position":"bin.000003:500"},"caught_up":false,"targets":[{"name":"target",)"
            R"("flavor":"sqlite","path":"shop.db","position":"bin.000002:10240",)"
            R"("behind_bytes":20980,"behind_seconds":12,"tables_loaded":0,"tables_begun":0,)"
            R"("rows_to_read_again":0}],"log":{"oldest_file":"bin.000002","files":2,"bytes":31220,)"
            R"("kept_seconds":604800,"needed_from":"bin.000002:10240","needed_bytes":20980,)"
            R"("status":"reserved"}}]})"
            "\n");
}

TEST(status, needs_of_a_binlog_what_the_last_target_needs) {
  const auto text = to_text(
      mysql_status({sqlite(place("bin.000003", 500)), sqlite(place("bin.000002", 4))}), now);

  EXPECT_NE(text.find("needed from bin.000002:4 on"), std::string::npos) << text;
}

TEST(status, says_that_a_binlog_was_purged_too_far) {
  const auto text = to_text(mysql_status({sqlite(place("bin.000001", 4))}), now);

  EXPECT_NE(text.find("a part of that was purged"), std::string::npos) << text;
  EXPECT_NE(text.find("--fresh-start-and-load"), std::string::npos) << text;
}

TEST(status, cannot_spell_the_positions_of_a_mysql_that_is_down) {
  auto out = mysql_status({sqlite(place("bin.000003", 4))});
  out.binlog.reset();
  out.error = "h:3306 does not answer";

  EXPECT_EQ(to_text(out, now), "shop (cdc.toml)\n"
                               "  source: h:3306 does not answer\n"
                               "  target: sqlite shop.db\n");
  EXPECT_NE(to_json({out}).find(R"("position":null)"), std::string::npos);
}

TEST(status, never_knows_a_mysql_target_without_a_checkpoint) {
  target_status null;
  null.flavor = "null";
  null.keeps_checkpoint = false;

  EXPECT_FALSE(has_reached(mysql_status({null}), {{0}, {}}));
}

TEST(validate, lets_a_target_resume_between_the_slot_and_the_logs_end) {
  const auto log = *status({}).log;

  EXPECT_EQ(judge_resume(log, "cdc_shop", {100}), "");
  EXPECT_EQ(judge_resume(log, "cdc_shop", {200}), "");
}

TEST(validate, refuses_a_target_that_the_log_cannot_serve) {
  const auto log = *status({}).log;

  EXPECT_NE(judge_resume(log, "cdc_shop", {99}).find("older copy"), std::string::npos);
  EXPECT_NE(judge_resume(log, "cdc_shop", {201}).find("beyond the end"), std::string::npos);
  EXPECT_NE(judge_resume(log, "other", {100}).find("does not exist any more"), std::string::npos);
}

} // namespace cdc::cli
