#include "actors/log.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "messages/block.hpp"

namespace cdc::log {
/// Counts how often it is formatted.
struct tally {
  int* times;
};
} // namespace cdc::log

template <>
struct fmt::formatter<cdc::log::tally> : fmt::formatter<int> {
  template <class Context>
  auto format(const cdc::log::tally& it, Context& context) const {
    return fmt::formatter<int>::format(++*it.times, context);
  }
};

namespace cdc::log {
namespace {

/// Logs into a file of its own, and back to stderr at its end.
class log_lines : public testing::Test {
protected:
  void SetUp() override {
    flush(); // what others held back is theirs
    chosen_.to = file_;
  }
  void TearDown() override {
    configure({});
    std::fclose(file_);
  }

  void start() { configure(chosen_); }

  std::string written() {
    std::string all;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
      all += static_cast<char>(c);
    return all;
  }

  /// The line without its time, which is as long in every line.
  std::string first_line() {
    const auto all = written();
    const auto end = all.find('\n');
    return end == all.npos ? all : all.substr(0, end);
  }

  std::FILE* file_ = std::tmpfile();
  options chosen_;
};

TEST_F(log_lines, begin_with_a_utc_time_and_name_event_and_pipeline) {
  start();

  voice{"shop"}.info("source.connected", "slot {} at {}", "s1", 7);

  const auto line = first_line();
  ASSERT_GT(line.size(), 25U);
  EXPECT_EQ(line.substr(24), " info  source.connected [shop] slot s1 at 7");
  EXPECT_EQ(line[10], 'T');
  EXPECT_EQ(line[23], 'Z');
}

TEST_F(log_lines, stay_one_line_each_whatever_a_server_said) {
  start();

  info("sink.failed", "{}", "one\ntwo\x1b[31m");

  EXPECT_EQ(first_line().substr(24), " info  sink.failed one\\ntwo\\x1b[31m");
}

TEST_F(log_lines, are_json_when_asked_for_with_everything_escaped) {
  chosen_.format = config::log_config::form::json;
  start();

  voice{"a\"b"}.error("engine.failed", "say \"{}\"\n{{}}", "\xFFx");

  const auto line = first_line();
  EXPECT_EQ(line.substr(0, 9), R"({"time":")");
  EXPECT_EQ(line.substr(line.find(",")),
            ",\"level\":\"error\",\"area\":\"engine\",\"event\":\"engine.failed\","
            "\"pipeline\":\"a\\\"b\",\"message\":\"say \\\"\xEF\xBF\xBDx\\\"\\n{}\"}");
}

TEST_F(log_lines, of_an_area_are_written_from_its_level_up) {
  chosen_.areas[static_cast<std::size_t>(area::load)] = level::debug;
  chosen_.areas[static_cast<std::size_t>(area::sink)] = level::error;
  start();

  debug("load.planned", "seen");
  debug("engine.batch", "hidden");
  warn("sink.slow", "hidden");

  EXPECT_NE(written().find("load.planned"), std::string::npos);
  EXPECT_EQ(written().find("hidden"), std::string::npos);
}

TEST_F(log_lines, that_are_off_do_not_format_their_arguments) {
  start();
  int times = 0;

  debug("engine.batch", "{}", tally{&times});
  EXPECT_EQ(times, 0);

  info("engine.batch", "{}", tally{&times});
  EXPECT_EQ(times, 1);
}

TEST_F(log_lines, said_again_at_once_are_held_back_and_counted_at_the_end) {
  start();

  for (int i = 0; i < 5; ++i)
    warn("sink.retry", "the target does not answer");
  warn("sink.retry", "the target refuses");
  flush();

  const auto all = written();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 3);
  EXPECT_NE(all.find("said 4 more times: sink.retry"), std::string::npos);
}

TEST(log_levels, that_do_not_exist_are_refused_by_name) {
  config::log_config config;
  config.level = "loud";
  EXPECT_NE(options_from(config).error().detail.find("'loud'"), std::string::npos);

  config.level = "warn";
  config.areas = {{"kitchen", "info"}};
  EXPECT_NE(options_from(config).error().detail.find("'kitchen'"), std::string::npos);

  config.areas = {{"engine", "trace"}};
  const auto chosen = options_from(config);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->areas[static_cast<std::size_t>(area::engine)], level::trace);
  EXPECT_EQ(chosen->areas[static_cast<std::size_t>(area::sink)], level::warn);
}

TEST(log_arguments, are_never_a_secret_a_cell_or_a_block) {
  EXPECT_FALSE((fmt::is_formattable<config::secret>::value));
  EXPECT_FALSE((fmt::is_formattable<cell>::value));
  EXPECT_FALSE((fmt::is_formattable<block>::value));
}

} // namespace
} // namespace cdc::log
