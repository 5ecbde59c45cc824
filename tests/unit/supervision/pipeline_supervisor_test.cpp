#include "supervision/pipeline_supervisor.hpp"

#include <deque>

#include <gtest/gtest.h>

#include "tests/support/actor_fixture.hpp"

namespace cdc::supervision {

namespace {

using namespace std::chrono_literals;
using actors::send_exit_now;

/// A source that is ready, or fails at once with what it is told to.
class parts_double final : public pipeline_parts {
public:
  explicit parts_double(std::optional<error> fails_with) : fails_with_(std::move(fails_with)) {}

  result<stream_identity> identify() override {
    if (fails_with_)
      return tl::unexpected(*fails_with_);
    return stream_identity{};
  }
  result<std::unique_ptr<sinks::sink>> make_sink(std::size_t) override { return nullptr; }
  result<ready_source> prepare_source(const std::vector<std::optional<position>>&) override {
    ready_source out;
    out.log_end = position{100};
    return out;
  }
  result<std::unique_ptr<sources::log_stream>> make_stream(position) override { return nullptr; }
  std::unique_ptr<sources::table_reader> make_reader(const std::string&) override {
    return nullptr;
  }
  void cancel() noexcept override {}

private:
  std::optional<error> fails_with_;
};

/// One life as the supervisor spawned it.
struct life_record {
  actors::incarnation life = 0;
  std::vector<caf::actor> actors; ///< source, checkpoint, engine.
  bool is_cancelled = false;
};

class pipeline_supervisor_test : public tests::actor_fixture {
protected:
  /// An actor that goes when it is told to, unless it `clings`.
  caf::actor child() {
    return caf::actor_cast<caf::actor>(spawn(
        [this](caf::event_based_actor* me, int) -> caf::behavior {
          if (clings)
            me->set_exit_handler([](const caf::exit_msg&) {});
          return {
              [me](stop_atom) {
                me->quit(actors::to_caf({errc::source_unavailable, "cut"}));
              },
              [this](const actors::quiet&) { ++quieted; },
              [this](finish_atom) -> caf::result<done_atom> {
                ++finished;
                if (stalls)
                  return caf::delegated<done_atom>{};
                return done_atom_v;
              },
          };
        },
        0));
  }

  troupe spawn_double(const life_context& context) {
    troupe out;
    auto& record = lives.emplace_back();
    record.life = context.life;
    for (const auto* name : {"source", "checkpoint", "engine"}) {
      record.actors.push_back(child());
      out.members.push_back({caf::actor_cast<caf::strong_actor_ptr>(record.actors.back()), name,
                             context.board->add(actors::actor_kind::engine, name, context.stats,
                                                "shop", context.life)});
    }
    out.source = record.actors[0];
    out.checkpoint = caf::actor_cast<actors::checkpoint_actor>(record.actors[1]);
    out.engines.push_back(caf::actor_cast<actors::engine_actor>(record.actors[2]));
    out.sink_cancels.push_back([&record] { record.is_cancelled = true; });
    return out;
  }

  pipeline_actor start(bool once = false) {
    auto config = std::make_shared<config::pipeline_config>();
    config->source.name = "shop";
    config->source.reconnect_max = 3;
    config->source.reconnect_backoff = 1s;
    config->engine.halted_retry = halted_retry;
    pipeline_options options;
    options.config = config;
    options.make_parts = [this](bool) {
      auto failure = setup_failures.empty() ? std::optional<error>{} : setup_failures.front();
      if (!setup_failures.empty())
        setup_failures.pop_front();
      return std::make_shared<parts_double>(std::move(failure));
    };
    options.spawn = [this](caf::actor_system&, life_setup&, const life_context& context) {
      return spawn_double(context);
    };
    options.aside = [](caf::actor_system&, const std::function<void()>& job) { job(); };
    options.once = once;
    options.seed = 1;
    options.board = board;
    auto root = spawn(
        [this](root_actor::pointer, int) -> root_actor::behavior_type {
          return {
              [this](const pipeline_news& what) { news.push_back(what); },
              [](stop_atom) {},
              [](const revive&, std::uint64_t) {},
              [](alive_atom) { return alive_atom_v; },
          };
        },
        0);
    auto made = spawn(pipeline_behavior, root, std::move(options));
    run();
    return made;
  }

  void fail_child(std::size_t life, std::size_t which, errc code = errc::source_unavailable) {
    send_exit_now(lives[life].actors[which], actors::to_caf({code, "cut"}));
    run();
  }

  [[nodiscard]] actors::pipeline_state state() const { return board->pipeline("shop")->state(); }

  std::deque<life_record> lives;
  std::deque<std::optional<error>> setup_failures;
  std::vector<pipeline_news> news;
  std::optional<std::chrono::seconds> halted_retry;
  std::shared_ptr<actors::board> board = std::make_shared<actors::board>("test", "0");
  bool clings = false;
  bool stalls = false;
  int quieted = 0;
  int finished = 0;
};

TEST_F(pipeline_supervisor_test, begins_a_new_life_after_the_backoff_when_an_actor_fails) {
  start();
  ASSERT_EQ(lives.size(), 1u);
  fail_child(0, 2);
  EXPECT_EQ(state(), actors::pipeline_state::reconnecting);
  pass_time(749ms);
  EXPECT_EQ(lives.size(), 1u);
  pass_time(251ms);
  ASSERT_EQ(lives.size(), 2u);
  EXPECT_EQ(lives[1].life, 2u);
}

TEST_F(pipeline_supervisor_test, ends_every_actor_before_a_new_life_begins) {
  clings = true;
  start();
  self->send(lives[0].actors[2], stop_atom_v);
  run();
  pass_time(60s);
  EXPECT_EQ(lives.size(), 1u) << "two of the old life are still there";

  clings = false;
  for (const auto which : {0u, 1u})
    self->send(lives[0].actors[which], stop_atom_v);
  run();
  pass_time(1s);
  EXPECT_EQ(lives.size(), 2u);
}

TEST_F(pipeline_supervisor_test, cancels_what_blocks_when_a_life_ends) {
  start();
  EXPECT_FALSE(lives[0].is_cancelled);
  fail_child(0, 0);
  EXPECT_TRUE(lives[0].is_cancelled);
}

TEST_F(pipeline_supervisor_test, halts_after_the_allowed_failures_and_says_why) {
  for (int i = 0; i < 4; ++i)
    setup_failures.push_back(error{errc::source_unavailable, "no route"});
  start();
  for (int i = 0; i < 4; ++i)
    pass_time(10s);
  EXPECT_EQ(state(), actors::pipeline_state::halted);
  ASSERT_FALSE(news.empty());
  EXPECT_EQ(news.back().kind, pipeline_news::what::halted);
  EXPECT_EQ(news.back().why.detail, "no route");
  EXPECT_FALSE(news.back().comes_back);
  EXPECT_TRUE(lives.empty());
}

TEST_F(pipeline_supervisor_test, halts_at_once_when_a_person_has_to_act) {
  setup_failures.push_back(error{errc::permission_denied, "GRANT it"});
  start();
  EXPECT_EQ(state(), actors::pipeline_state::halted);
  pass_time(3600s);
  EXPECT_TRUE(lives.empty());
}

TEST_F(pipeline_supervisor_test, comes_back_from_a_halt_by_itself_when_it_is_told_to) {
  halted_retry = 60s;
  setup_failures.push_back(error{errc::permission_denied, "GRANT it"});
  start();
  EXPECT_TRUE(news.back().comes_back);
  pass_time(59s);
  EXPECT_TRUE(lives.empty());
  pass_time(1s);
  EXPECT_EQ(lives.size(), 1u);
}

TEST_F(pipeline_supervisor_test, comes_back_from_a_halt_when_a_person_asks) {
  setup_failures.push_back(error{errc::permission_denied, "GRANT it"});
  const auto pipeline = start();
  self->send(pipeline, revive{});
  run();
  EXPECT_EQ(lives.size(), 1u);
  EXPECT_EQ(news.back().kind, pipeline_news::what::running);
}

TEST_F(pipeline_supervisor_test, stops_the_source_then_lets_the_engines_finish_then_ends_all) {
  const auto pipeline = start();
  self->send(pipeline, stop_atom_v);
  run();
  EXPECT_EQ(quieted, 1);
  EXPECT_EQ(finished, 2) << "the engine, then the checkpoint";
  EXPECT_EQ(state(), actors::pipeline_state::stopped);
  EXPECT_EQ(news.back().kind, pipeline_news::what::over);
}

TEST_F(pipeline_supervisor_test, stops_within_its_deadline_when_a_target_stalls) {
  stalls = true;
  const auto pipeline = start();
  self->send(pipeline, stop_atom_v);
  run();
  EXPECT_NE(state(), actors::pipeline_state::stopped);
  pass_time(1500ms);
  EXPECT_EQ(state(), actors::pipeline_state::stopped);
  EXPECT_TRUE(lives[0].is_cancelled);
}

TEST_F(pipeline_supervisor_test, stops_at_once_when_it_is_told_twice) {
  stalls = true;
  const auto pipeline = start();
  self->send(pipeline, stop_atom_v);
  self->send(pipeline, stop_atom_v);
  run();
  EXPECT_EQ(state(), actors::pipeline_state::stopped);
}

TEST_F(pipeline_supervisor_test, stops_while_it_waits_for_the_next_try) {
  const auto pipeline = start();
  fail_child(0, 1);
  self->send(pipeline, stop_atom_v);
  run();
  EXPECT_EQ(state(), actors::pipeline_state::stopped);
  pass_time(60s);
  EXPECT_EQ(lives.size(), 1u);
}

TEST_F(pipeline_supervisor_test, run_once_ends_when_the_position_of_the_start_is_durable) {
  const auto pipeline = start(true);
  self->send(pipeline, actors::confirmation{1, position{99}});
  run();
  EXPECT_EQ(state(), actors::pipeline_state::streaming);
  self->send(pipeline, actors::confirmation{1, position{100}});
  run();
  EXPECT_EQ(state(), actors::pipeline_state::stopped);
}

TEST_F(pipeline_supervisor_test, hears_nothing_of_an_earlier_life) {
  const auto pipeline = start(true);
  fail_child(0, 0);
  pass_time(1s);
  ASSERT_EQ(lives.size(), 2u);
  self->send(pipeline, actors::confirmation{1, position{1000}});
  run();
  EXPECT_EQ(state(), actors::pipeline_state::streaming);
}

} // namespace

} // namespace cdc::supervision
