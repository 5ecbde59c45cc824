#include "sinks/threaded_sink.hpp"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace cdc::sinks {

namespace {

/// What a test sees and steers of a target whose calls block.
struct script {
  std::promise<void> entered; ///< The first write has begun …
  std::promise<void> go;      ///< … and waits for this, or for an interruption.
  std::atomic<bool> is_interrupted{false};
  std::atomic<int> writes{0};
  std::atomic<int> fails_at{0}; ///< The number of the batch that fails.
  std::thread::id opened_on, wrote_on, ended_on;

  void let_go() {
    if (!has_gone.exchange(true))
      go.set_value();
  }
  std::atomic<bool> has_gone{false};
};

class scripted_target final : public blocking_target {
public:
  scripted_target(script& steps, bool waits) : steps_(steps), waits_(waits) {}
  ~scripted_target() override { steps_.ended_on = std::this_thread::get_id(); }

  result<sink_state> open(const stream_identity&) override {
    steps_.opened_on = std::this_thread::get_id();
    return sink_state{};
  }
  result<std::vector<std::string>> prepare(const std::vector<target_table_ptr>&) override {
    return std::vector<std::string>{"a notice"};
  }
  result<write_report> write(const batch& work) override {
    steps_.wrote_on = std::this_thread::get_id();
    if (++steps_.writes == 1 && waits_) {
      steps_.entered.set_value();
      steps_.go.get_future().wait();
      if (steps_.is_interrupted)
        return fail(errc::cancelled, "interrupted");
    }
    if (static_cast<int>(work.number) == steps_.fails_at)
      return fail(errc::target_unavailable, "no");
    write_report out;
    out.batch = work.number;
    return out;
  }
  void interrupt() noexcept override {
    steps_.is_interrupted = true;
    steps_.let_go();
  }

private:
  script& steps_;
  bool waits_;
};

batch_ptr numbered(std::uint64_t number) {
  auto out = std::make_shared<batch>();
  out->number = number;
  return out;
}

struct outcome {
  std::promise<result<write_report>> promise;
  completion done() {
    return [this](result<write_report> report) { promise.set_value(std::move(report)); };
  }
  result<write_report> get() { return promise.get_future().get(); }
};

TEST(threaded_sink, calls_its_target_from_one_thread_that_is_not_ours) {
  script steps;
  {
    threaded_sink sink(std::make_unique<scripted_target>(steps, false));
    ASSERT_TRUE(sink.open({}));
    outcome one;
    sink.submit(numbered(1), one.done());
    EXPECT_EQ(one.get()->batch, 1U);
  }
  EXPECT_NE(steps.opened_on, std::this_thread::get_id());
  EXPECT_EQ(steps.opened_on, steps.wrote_on);
  EXPECT_EQ(steps.opened_on, steps.ended_on);
}

TEST(threaded_sink, takes_the_next_batch_while_one_is_being_written) {
  script steps;
  threaded_sink sink(std::make_unique<scripted_target>(steps, true));
  outcome one, two;
  sink.submit(numbered(1), one.done());
  steps.entered.get_future().wait();
  sink.submit(numbered(2), two.done()); // returns at once
  EXPECT_EQ(steps.writes, 1);
  steps.let_go();
  EXPECT_EQ(one.get()->batch, 1U);
  EXPECT_EQ(two.get()->batch, 2U);
}

TEST(threaded_sink, fails_every_batch_behind_one_that_failed) {
  script steps;
  steps.fails_at = 1;
  threaded_sink sink(std::make_unique<scripted_target>(steps, false));
  outcome one, two;
  sink.submit(numbered(1), one.done());
  sink.submit(numbered(2), two.done());
  EXPECT_EQ(one.get().error().code, errc::target_unavailable);
  EXPECT_EQ(two.get().error().code, errc::target_unavailable);
  EXPECT_EQ(steps.writes, 1) << "the target was asked again";
  EXPECT_FALSE(sink.prepare({}));
}

TEST(threaded_sink, interrupts_the_call_that_blocks_and_refuses_what_waits) {
  script steps;
  threaded_sink sink(std::make_unique<scripted_target>(steps, true));
  outcome one, two, three;
  sink.submit(numbered(1), one.done());
  steps.entered.get_future().wait();
  sink.submit(numbered(2), two.done());
  sink.cancel();
  EXPECT_EQ(one.get().error().code, errc::cancelled);
  EXPECT_FALSE(two.get());
  sink.submit(numbered(3), three.done());
  EXPECT_FALSE(three.get());
  EXPECT_EQ(steps.writes, 1);
  EXPECT_FALSE(sink.open({}));
}

TEST(threaded_sink, completes_everything_before_it_is_gone) {
  script steps;
  outcome one, two;
  {
    threaded_sink sink(std::make_unique<scripted_target>(steps, true));
    sink.submit(numbered(1), one.done());
    steps.entered.get_future().wait();
    sink.submit(numbered(2), two.done());
  }
  EXPECT_FALSE(one.get());
  EXPECT_FALSE(two.get());
}

TEST(threaded_sink, gives_notices_once) {
  script steps;
  threaded_sink sink(std::make_unique<scripted_target>(steps, false));
  EXPECT_TRUE(sink.take_notices().empty());
  ASSERT_TRUE(sink.prepare({}));
  ASSERT_TRUE(sink.prepare({}));
  EXPECT_EQ(sink.take_notices().size(), 2U);
  EXPECT_TRUE(sink.take_notices().empty());
}

} // namespace

} // namespace cdc::sinks
