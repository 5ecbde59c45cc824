#include "actors/http/status.hpp"

#include <string>

#include <gtest/gtest.h>

#include "actors/http/tree.hpp"

namespace cdc::actors::http {
namespace {

constexpr std::int64_t second = 1'000'000;

board_view small_board() {
  board_view seen{.node = "n1", .version = "0.1.0", .started = 10 * second, .now = 75 * second};
  seen.actors.push_back({.id = 1, .name = "root", .state = actor_state::running});
  seen.actors.push_back({.id = 2,
                         .parent = 1,
                         .name = "pipeline shop",
                         .kind = actor_kind::pipeline,
                         .pipeline = "shop",
                         .state = actor_state::running,
                         .last_error = {"source_unavailable: it \"left\"", 74 * second}});
  seen.actors.push_back({.id = 3,
                         .parent = 2,
                         .name = "source",
                         .kind = actor_kind::source,
                         .node = "n1",
                         .pipeline = "shop",
                         .incarnation = 2,
                         .state = actor_state::running,
                         .messages = 5,
                         .mailbox = 1,
                         .mailbox_max = 4,
                         .held = {3, 2048},
                         .owed = {1, 100},
                         .in_flight = 4096,
                         .doing = "reads",
                         .about = "slot s1",
                         .restarts = 1});
  seen.actors.push_back({.id = 4, .parent = 1, .name = "http", .kind = actor_kind::http});
  auto& shop = seen.pipelines.emplace_back();
  shop.name = "shop";
  shop.flavor = "postgres";
  shop.state = pipeline_state::loading;
  shop.current = {20};
  shop.spell = [](position at) { return "0/" + std::to_string(at.token); };
  shop.lag_bytes = 2048;
  shop.lag_seconds = 1.5;
  shop.last_error = {"target_unavailable: full", 70 * second};
  shop.drift.push_back({"public.a", 2});
  shop.slots.push_back({.name = "s1", .status = wal_status::reserved, .retained_bytes = 77});
  shop.tables.push_back({.name = "public.a",
                         .sink = "lite",
                         .state = table_state::loading,
                         .rows = 500,
                         .rows_estimate = 1000,
                         .started = 70 * second});
  auto& sink = shop.sinks.emplace_back();
  sink.name = "lite";
  sink.streamed.read = 9;
  sink.acknowledged = {12};
  return seen;
}

std::string status() {
  return render_status(small_board(), derive_flow(nullptr, small_board()));
}
std::string actors() {
  return render_actors(small_board(), derive_flow(nullptr, small_board()));
}
std::string tree() {
  return render_tree(small_board(), derive_flow(nullptr, small_board()));
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(status_json, names_process_pipeline_and_state) {
  EXPECT_TRUE(has(status(), R"({"node":"n1","version":"0.1.0","now":"1970-01-01T00:01:15.000Z")"));
  EXPECT_TRUE(has(status(), R"("uptime_seconds":65,)"));
  EXPECT_TRUE(has(status(), R"("pipeline":"shop","source":"postgres","state":"loading")"));
}

TEST(status_json, tells_how_far_each_table_is) {
  EXPECT_TRUE(has(status(), R"("table":"public.a","sink":"lite","state":"loading","rows":500,)"
                            R"("rows_estimate":1000,)"));
  EXPECT_TRUE(has(status(), R"("percent":50,"rows_per_second":100,"seconds_left":5,)"));
  EXPECT_TRUE(has(status(), R"("finished":null)"));
}

TEST(status_json, spells_positions_as_their_source_does) {
  EXPECT_TRUE(has(status(), R"("positions":{"current":"0/20")"));
  EXPECT_TRUE(has(status(), R"("acknowledged":"0/12")"));
}

TEST(status_json, tells_lag_accounting_slots_drift_and_the_last_error) {
  EXPECT_TRUE(has(status(), R"("lag":{"bytes":2048,"seconds":1.5})"));
  EXPECT_TRUE(has(status(), R"("accounting":{"stream":{"read":9,"written":0,)"));
  EXPECT_TRUE(has(status(), R"("slot":"s1","active":false,"wal_status":"reserved",)"
                            R"("retained_bytes":77,"safe_wal_bytes":null)"));
  EXPECT_TRUE(has(status(), R"("schema_drift":{"public.a":2})"));
  EXPECT_TRUE(has(status(), R"("last_error":{"text":"target_unavailable: full","at":)"));
}

TEST(actors_json, is_a_tree_with_the_children_inside) {
  const auto text = actors();

  const auto root = text.find(R"("name":"root")");
  const auto pipeline = text.find(R"("children":[{"name":"pipeline shop")");
  const auto source = text.find(R"("children":[{"name":"source")");
  const auto http = text.find(R"("children":[]}]},{"name":"http")");
  EXPECT_LT(root, pipeline);
  EXPECT_LT(pipeline, source);
  EXPECT_LT(source, http);
  EXPECT_NE(http, std::string::npos);
}

TEST(actors_json, tells_all_that_an_actor_shows) {
  EXPECT_TRUE(has(actors(), R"({"name":"source","kind":"source","node":"n1","pipeline":"shop",)"
                            R"("state":"running","incarnation":2,"restarts":1,"doing":"reads",)"
                            R"("about":"slot s1","messages":5,"mailbox":{"depth":1,"max":4},)"
                            R"("credit_held":{"blocks":3,"bytes":2048},)"
                            R"("credit_owed":{"blocks":1,"bytes":100},"in_flight_bytes":4096,)"));
  EXPECT_TRUE(has(actors(), R"("text":"source_unavailable: it \"left\"")"));
}

TEST(actors_json, shows_an_actor_whose_parent_is_gone_as_a_root) {
  auto seen = small_board();
  seen.actors.erase(seen.actors.begin() + 1);

  EXPECT_TRUE(has(render_actors(seen, {}), R"(,{"name":"source")"));
}

TEST(actor_tree, is_drawn_with_lines_and_columns) {
  EXPECT_EQ(
      tree(),
      "n1 · cdc-actors 0.1.0 · up 1 min 5 s\n"
      "root              running\n"
      "├─ pipeline shop  running\n"
      "│  │  last error 1970-01-01T00:01:14.000Z: source_unavailable: it \"left\"\n"
      "│  └─ source      running   reads slot s1  mailbox 1 (most 4) · may send 3 blocks 2.0 KiB · "
      "owes 1 block 100 B · keeps 4.0 KiB · 1 restart\n"
      "└─ http           starting\n"
      "shop: loading · lag 1.5 s 2.0 KiB · 100 rows/s · paced by source: every stage behind "
      "it waits for rows\n"
      "  last error 1970-01-01T00:01:10.000Z: target_unavailable: full\n");
}

} // namespace
} // namespace cdc::actors::http
