#include "actors/metrics.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace cdc::actors {
namespace {

/// Two pipelines with something in every list.
board_view busy_board() {
  board_view seen{.node = "n1", .version = "0.1.0"};
  for (const auto* name : {"shop", "mail"}) {
    pipeline_view one;
    one.name = name;
    one.state = pipeline_state::streaming;
    one.drift.push_back({"public.orders", 2});
    one.tables.push_back({.name = "public.orders", .sink = "lite", .rows = 7});
    one.slots.push_back({.name = "cdc", .status = wal_status::extended, .safe_bytes = 9});
    sink_view sink;
    sink.name = "lite";
    sink.decode_to_ack.counts[0] = 3;
    sink.decode_to_ack.counts.back() = 1;
    sink.decode_to_ack.sum = 200.5;
    sink.target.emplace();
    one.sinks.push_back(sink);
    sink.target.reset();
    sink.name = "file";
    one.sinks.push_back(sink);
    seen.pipelines.push_back(one);
    actor_view actor;
    actor.name = "engine";
    actor.pipeline = name;
    seen.actors.push_back(actor);
  }
  seen.actors.emplace_back().name = "root";
  return seen;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

bool has_line(const std::string& text, const std::string& wanted) {
  return ("\n" + text).find("\n" + wanted + "\n") != std::string::npos;
}

TEST(metrics, say_exactly_one_state_of_a_pipeline) {
  const auto text = render_metrics(busy_board());

  EXPECT_TRUE(has_line(text, R"(cdc_source_state{source="shop",state="streaming"} 1)"));
  EXPECT_TRUE(has_line(text, R"(cdc_source_state{source="shop",state="starting"} 0)"));
  EXPECT_TRUE(has_line(text, R"(cdc_source_state{source="shop",state="halted"} 0)"));
}

TEST(metrics, are_histograms_whose_buckets_add_up_to_their_count) {
  const auto text = render_metrics(busy_board());
  const std::string of = R"({source="shop",sink="lite")";

  EXPECT_TRUE(has_line(text, "# TYPE cdc_latency_seconds histogram"));
  EXPECT_TRUE(has_line(text, "cdc_latency_seconds_bucket" + of + R"(,le="0.0005"} 3)"));
  EXPECT_TRUE(has_line(text, "cdc_latency_seconds_bucket" + of + R"(,le="120"} 3)"));
  EXPECT_TRUE(has_line(text, "cdc_latency_seconds_bucket" + of + R"(,le="+Inf"} 4)"));
  EXPECT_TRUE(has_line(text, "cdc_latency_seconds_sum" + of + "} 200.5"));
  EXPECT_TRUE(has_line(text, "cdc_latency_seconds_count" + of + "} 4"));
}

TEST(metrics, introduce_each_family_once_and_keep_its_series_together) {
  const std::regex series{R"(([a-z_]+?)(_bucket|_sum|_count)?\{.*)"};
  std::set<std::string> families;
  std::string family;
  for (const auto& line : lines_of(render_metrics(busy_board()))) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family << " stands in two places";
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(line.starts_with("# TYPE " + family + " ")) << line;
    } else {
      std::smatch found;
      ASSERT_TRUE(std::regex_match(line, found, series)) << line;
      const auto name = line.substr(0, line.find('{'));
      EXPECT_TRUE(name == family || found[1] == family) << line << " stands under " << family;
    }
  }
  EXPECT_GT(families.size(), 30U);
}

TEST(metrics, name_their_source_in_every_series) {
  std::size_t count = 0;
  for (const auto& line : lines_of(render_metrics(busy_board()))) {
    if (line.starts_with('#'))
      continue;
    EXPECT_NE(line.find("{source=\""), std::string::npos) << line;
    ++count;
  }
  EXPECT_GT(count, 100U);
}

TEST(metrics, never_say_one_series_twice) {
  std::set<std::string> seen;
  for (const auto& line : lines_of(render_metrics(busy_board())))
    EXPECT_TRUE(line.starts_with('#') || seen.insert(line.substr(0, line.rfind(' '))).second)
        << line;
}

TEST(metrics, come_in_the_same_order_each_time) {
  EXPECT_EQ(render_metrics(busy_board()), render_metrics(busy_board()));
}

TEST(metrics, escape_what_a_label_must_not_hold) {
  board_view seen;
  seen.pipelines.emplace_back().name = "a\"b\\c\nd";

  EXPECT_TRUE(has_line(render_metrics(seen), R"(cdc_load_finished{source="a\"b\\c\nd"} 0)"));
}

TEST(metrics, leave_out_what_nobody_measures) {
  auto seen = busy_board();
  for (auto& pipeline : seen.pipelines)
    pipeline.slots[0].safe_bytes.reset();

  EXPECT_EQ(render_metrics(seen).find("safe_wal"), std::string::npos);
  EXPECT_EQ(render_metrics(board_view{}), "");
}

TEST(metrics, are_all_in_the_documentation_and_nothing_else_is) {
  const auto root = std::filesystem::path{CDC_ROOT};
  std::ifstream file{root / "docs/http.md"};
  ASSERT_TRUE(file) << "docs/http.md is not where it was";
  std::set<std::string> documented;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `cdc_"))
      documented.insert(line.substr(3, line.find('`', 3) - 3));

  std::set<std::string> rendered;
  for (const auto& line : lines_of(render_metrics(busy_board())))
    if (line.starts_with("# HELP "))
      rendered.insert(line.substr(7, line.find(' ', 7) - 7));

  EXPECT_EQ(documented, rendered);
}

TEST(metrics, pass_promtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "promtool is not installed";
  const auto file = std::filesystem::path{testing::TempDir()} / "cdc_metrics.prom";
  std::ofstream{file} << render_metrics(busy_board());

  auto* const check = popen(("promtool check metrics < " + file.string() + " 2>&1").c_str(), "r");
  std::string said;
  for (int c = std::fgetc(check); c != EOF; c = std::fgetc(check))
    said += static_cast<char>(c);

  EXPECT_EQ(pclose(check), 0) << said;
  EXPECT_EQ(said, "");
  std::filesystem::remove(file);
}

} // namespace
} // namespace cdc::actors
