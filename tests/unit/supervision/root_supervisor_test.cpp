#include "supervision/root_supervisor.hpp"

#include <gtest/gtest.h>

#include "tests/support/actor_fixture.hpp"

namespace cdc::supervision {

namespace {

/// A source that cannot be identified: `why` says how bad it is.
class parts_double final : public pipeline_parts {
public:
  explicit parts_double(error why) : why_(std::move(why)) {}

  result<stream_identity> identify() override { return tl::unexpected(why_); }
  result<std::unique_ptr<sinks::sink>> make_sink(std::size_t) override { return nullptr; }
  result<ready_source> prepare_source(const std::vector<std::optional<position>>&) override {
    return tl::unexpected(why_);
  }
  result<std::unique_ptr<sources::log_stream>> make_stream(position) override { return nullptr; }
  std::unique_ptr<sources::table_reader> make_reader(const std::string&) override {
    return nullptr;
  }
  void cancel() noexcept override {}

private:
  error why_;
};

class root_supervisor_test : public tests::actor_fixture {
protected:
  root_actor start(const std::vector<error>& failures,
                   std::optional<std::chrono::seconds> halted_retry = {}) {
    root_options options;
    options.board = std::make_shared<actors::board>("test", "0");
    options.over = [this](const outcome& how) { ended = how; };
    options.ready = [this] { ++ready; };
    for (const auto& why : failures) {
      auto config = std::make_shared<config::pipeline_config>();
      config->source.name = "p" + std::to_string(options.pipelines.size());
      config->engine.halted_retry = halted_retry;
      auto& pipeline = options.pipelines.emplace_back();
      pipeline.config = config;
      pipeline.make_parts = [why](bool) { return std::make_shared<parts_double>(why); };
      pipeline.aside = [](caf::actor_system&, const std::function<void()>& job) { job(); };
      pipeline.seed = 1;
    }
    auto root = spawn(root_behavior, std::move(options));
    run();
    return root;
  }

  std::optional<outcome> ended;
  int ready = 0;
};

const error forbidden{errc::permission_denied, "GRANT it"};
const error cut{errc::source_unavailable, "no route"};

TEST_F(root_supervisor_test, ends_when_every_pipeline_has_halted_and_says_why) {
  start({forbidden, forbidden});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->pipelines, 2u);
  ASSERT_EQ(ended->halted.size(), 2u);
  EXPECT_EQ(ended->halted[1].name, "p1");
  EXPECT_EQ(ended->halted[1].why, forbidden);
}

TEST_F(root_supervisor_test, goes_on_while_one_pipeline_tries) {
  const auto root = start({forbidden, cut});
  EXPECT_FALSE(ended);
  self->send(root, stop_atom_v);
  run();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->halted.size(), 1u);
}

TEST_F(root_supervisor_test, goes_on_while_a_halted_pipeline_comes_back_by_itself) {
  const auto root = start({forbidden}, std::chrono::seconds{60});
  EXPECT_FALSE(ended);
  self->send(root, stop_atom_v);
  run();
  EXPECT_TRUE(ended);
}

TEST_F(root_supervisor_test, answers_that_it_is_alive) {
  const auto root = start({cut});
  bool answered = false;
  spawn(
      [&](caf::event_based_actor* asks, int) {
        asks->request(root, caf::infinite, alive_atom_v).then([&](alive_atom) { answered = true; });
      },
      0);
  run();
  EXPECT_TRUE(answered);
}

} // namespace

} // namespace cdc::supervision
