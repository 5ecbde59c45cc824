#include "supervision/set_up.hpp"

#include <deque>

#include <gtest/gtest.h>

#include "tests/unit/engine/memory_target.hpp"
#include "tests/unit/engine/script.hpp"

namespace cdc::supervision {

namespace {

using engine::test::shape_of;

/// A sink over a target in memory, which outlives it.
class sink_double final : public sinks::sink {
public:
  sink_double(engine::test::target& to, std::vector<std::string>& prepared)
      : to_(to), prepared_(prepared) {}

  result<sink_state> open(const stream_identity&) override { return to_.state(); }
  result<void> prepare(const std::vector<target_table_ptr>& tables) override {
    for (const auto& table : tables)
      prepared_.push_back(table->name);
    return {};
  }
  void submit(batch_ptr work, completion done) override { done(to_.write(*work)); }
  void cancel() noexcept override {}

private:
  engine::test::target& to_;
  std::vector<std::string>& prepared_;
};

/// A source with two tables.
class parts_double final : public pipeline_parts {
public:
  result<stream_identity> identify() override { return stream_identity{}; }
  result<std::unique_ptr<sinks::sink>> make_sink(std::size_t number) override {
    return std::make_unique<sink_double>(targets[number], prepared);
  }
  result<ready_source>
  prepare_source(const std::vector<std::optional<position>>& resumes_) override {
    resumes = resumes_;
    ready_source out;
    out.tables = {{shape_of("orders", 1), 0, published_by}, {shape_of("items", 2), 0, 200}};
    out.start = position{50};
    out.log_end = position{70};
    out.notes = {"look out"};
    return out;
  }
  result<std::unique_ptr<sources::log_stream>> make_stream(position from_) override {
    from = from_;
    return nullptr;
  }
  std::unique_ptr<sources::table_reader> make_reader(const std::string&) override {
    return nullptr;
  }
  void cancel() noexcept override {}

  std::deque<engine::test::target> targets;
  std::vector<std::string> prepared;
  std::vector<std::optional<position>> resumes;
  std::uint32_t published_by = 100; ///< orders.
  position from;
};

class set_up_test : public testing::Test {
protected:
  std::shared_ptr<life_setup> run(std::size_t targets, bool fresh = false) {
    auto config = std::make_shared<config::pipeline_config>();
    config->targets.resize(targets);
    for (std::size_t i = 0; i < targets; ++i)
      config->targets[i].name = "t" + std::to_string(i);
    config->syncs.resize(1);
    config->syncs[0].tables = {"public.*"};
    config->syncs[0].is_pattern = true;
    parts->targets.resize(targets);
    auto done = setting_up{config, parts, fresh}.run();
    EXPECT_TRUE(done) << (done ? "" : done.error().detail);
    return done ? *done : nullptr;
  }

  static std::string finished(std::uint32_t table_oid = 0, std::uint32_t published_by = 0) {
    table_progress out;
    out.table_oid = table_oid;
    out.published_by = published_by;
    out.plan.ranges.resize(1);
    out.done = {true};
    return to_text(out);
  }

  std::shared_ptr<parts_double> parts = std::make_shared<parts_double>();
};

TEST_F(set_up_test, begins_at_the_source_when_no_target_has_a_checkpoint) {
  const auto life = run(1);
  ASSERT_TRUE(life);
  EXPECT_EQ(parts->from, position{50});
  EXPECT_EQ(parts->prepared, (std::vector<std::string>{"orders", "items"}));
  EXPECT_TRUE(life->branches[0].needs_load());
  EXPECT_EQ(life->log_end, position{70});
  EXPECT_EQ(life->notes, (std::vector<std::string>{"look out"}));
}

TEST_F(set_up_test, begins_at_the_least_checkpoint_of_several_targets) {
  parts->targets.resize(2);
  parts->targets[0].resume = {position{90}, position{89}};
  parts->targets[1].resume = {position{60}, position{59}};
  ASSERT_TRUE(run(2));
  EXPECT_EQ(parts->from, position{60});
  EXPECT_EQ(parts->resumes[0], position{90});
}

TEST_F(set_up_test, begins_at_the_source_when_one_target_is_new) {
  parts->targets.resize(2);
  parts->targets[0].resume = {position{90}, position{89}};
  const auto life = run(2);
  EXPECT_EQ(parts->from, position{50});
  EXPECT_EQ(parts->resumes[1], std::nullopt);
}

TEST_F(set_up_test, does_not_load_what_is_loaded) {
  parts->targets.resize(1);
  auto& target = parts->targets[0];
  target.resume = {position{90}, position{89}};
  target.records = {{engine::progress_record("orders"), finished()},
                    {engine::progress_record("items"), finished()}};
  const auto life = run(1);
  ASSERT_TRUE(life);
  EXPECT_FALSE(life->branches[0].needs_load());

  target.records.erase(engine::progress_record("items"));
  EXPECT_TRUE(run(1)->branches[0].needs_load());
}

TEST_F(set_up_test, loads_a_table_anew_that_took_the_name_of_the_loaded_one) {
  parts->targets.resize(1);
  auto& target = parts->targets[0];
  target.resume = {position{90}, position{89}};
  target.records = {{engine::progress_record("orders"), finished(7)},
                    {engine::progress_record("items"), finished(2)}};
  target.tables["orders"].rows["k"] = {"1", "a", "b", "c"};
  target.tables["orders"].list = {"l"};
  target.tables["items"].rows["k"] = {"1", "a", "b", "c"};
  const auto life = run(1);
  ASSERT_TRUE(life);
  EXPECT_EQ(life->branches[0].progress[0], std::nullopt);
  EXPECT_TRUE(target.tables["orders"].rows.empty());
  EXPECT_TRUE(target.tables["orders"].list.empty());
  EXPECT_FALSE(target.records.contains(engine::progress_record("orders")));
  EXPECT_EQ(target.resume, (checkpoint{position{90}, position{89}}));
  ASSERT_EQ(life->notes.size(), 2u);
  EXPECT_NE(life->notes[1].find("public.orders"), std::string::npos);

  EXPECT_TRUE(life->branches[0].progress[1]);
  EXPECT_EQ(target.tables["items"].rows.size(), 1u);
}

TEST_F(set_up_test, loads_a_table_anew_that_was_left_for_a_while) {
  parts->targets.resize(1);
  auto& target = parts->targets[0];
  target.resume = {position{90}, position{89}};
  target.records = {{engine::progress_record("orders"), finished(1)},
                    {engine::progress_record("items"), finished(2)},
                    {engine::progress_record("gone"), finished(3)}};
  target.tables["gone"].rows["k"] = {"1", "a", "b", "c"};
  ASSERT_TRUE(run(1));
  EXPECT_TRUE(parse_progress(target.records[engine::progress_record("gone")])->is_left);
  EXPECT_FALSE(parse_progress(target.records[engine::progress_record("items")])->is_left);
  EXPECT_EQ(target.tables["gone"].rows.size(), 1u) << "what was copied stays";

  // Now the file names it again, under a name that is in the source.
  target.records[engine::progress_record("items")] =
      target.records[engine::progress_record("gone")];
  target.tables["items"].rows["k"] = {"1", "a", "b", "c"};
  const auto life = run(1);
  ASSERT_TRUE(life);
  EXPECT_EQ(life->branches[0].progress[1], std::nullopt);
  EXPECT_TRUE(target.tables["items"].rows.empty());
}

TEST_F(set_up_test, loads_a_table_anew_that_was_out_of_the_publication_meanwhile) {
  parts->targets.resize(1);
  auto& target = parts->targets[0];
  target.resume = {position{90}, position{89}};
  target.records = {{engine::progress_record("orders"), finished(1, 100)},
                    {engine::progress_record("items"), finished(2, 200)}};
  EXPECT_FALSE(run(1)->branches[0].needs_load());

  target.tables["orders"].rows["k"] = {"1", "a", "b", "c"};
  parts->published_by = 300;
  const auto life = run(1);
  ASSERT_TRUE(life);
  EXPECT_EQ(life->branches[0].progress[0], std::nullopt);
  EXPECT_TRUE(life->branches[0].progress[1]);
  EXPECT_TRUE(target.tables["orders"].rows.empty());
  ASSERT_EQ(life->notes.size(), 2u);
  EXPECT_NE(life->notes[1].find("public.orders was taken out of the publication"),
            std::string::npos);
}

TEST_F(set_up_test, begins_anew_with_empty_tables_when_it_is_told_to) {
  parts->targets.resize(1);
  auto& target = parts->targets[0];
  target.resume = {position{900}, position{899}};
  target.records = {{engine::progress_record("orders"), finished()},
                    {engine::progress_record("items"), finished()}};
  target.tables["orders"].rows["k"] = {"1", "a", "b", "c"};
  target.tables["orders"].list = {"l"};
  const auto life = run(1, true);
  ASSERT_TRUE(life);
  EXPECT_EQ(parts->resumes[0], std::nullopt);
  EXPECT_EQ(parts->from, position{50});
  EXPECT_TRUE(life->branches[0].needs_load());
  EXPECT_TRUE(target.tables["orders"].rows.empty());
  EXPECT_TRUE(target.tables["orders"].list.empty());
  EXPECT_TRUE(target.records.empty());
  EXPECT_EQ(target.resume, (checkpoint{position{50}, position{50}}));
}

} // namespace

} // namespace cdc::supervision
