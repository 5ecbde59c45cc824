#include "actors/source_actor.hpp"

#include <atomic>
#include <deque>
#include <mutex>

#include <caf/others.hpp>
#include <caf/scoped_actor.hpp>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/engine/script.hpp"

namespace cdc::actors {

namespace {

using namespace std::chrono_literals;
using engine::test::script;
using next = sources::log_stream::next;

/// A log whose every block is there already, and a socket that is readable while there is one.
class log_double final : public sources::log_stream {
public:
  struct record {
    std::mutex guard;
    std::deque<block_ptr> blocks;
    std::vector<std::uint64_t> confirmed;
    std::atomic<int> taken{0};
    std::atomic<int> asked{0};
    std::atomic<bool> closed{false};
    std::optional<std::uint32_t> unknown;
    std::atomic<int> provided{0};
    std::optional<error> fails_with;
  };

  explicit log_double(std::shared_ptr<record> with)
      : with_(std::move(with)), socket_(::eventfd(0, EFD_NONBLOCK)) {}
  ~log_double() override { ::close(socket_); }

  int socket() const noexcept override { return socket_; }
  short wants_events(bool) const noexcept override { return POLLIN; }
  sources::clock::time_point deadline() const noexcept override {
    return sources::clock::now() + 5ms;
  }
  result<next> advance(sources::clock::time_point, bool may_read) override {
    const std::lock_guard hold{with_->guard};
    if (with_->fails_with)
      return tl::unexpected(*with_->fails_with);
    return may_read && !with_->unknown && !with_->blocks.empty() ? next::ship : next::poll;
  }
  block_ptr take_block() override {
    const std::lock_guard hold{with_->guard};
    auto out = with_->blocks.front();
    with_->blocks.pop_front();
    ++with_->taken;
    return out;
  }
  void confirm(position durable) noexcept override { with_->confirmed.push_back(durable.token); }
  void ask_for_position() noexcept override { ++with_->asked; }
  std::optional<std::uint32_t> unknown_relation() const noexcept override {
    const std::lock_guard hold{with_->guard};
    return with_->unknown;
  }
  void provide(relation_ptr) override {
    const std::lock_guard hold{with_->guard};
    with_->unknown.reset();
    ++with_->provided;
  }
  void close() noexcept override { with_->closed = true; }

private:
  std::shared_ptr<record> with_;
  int socket_;
};

/// The source has a thread of its own, so these tests wait for its messages, with a deadline.
class source_actor_test : public testing::Test {
protected:
  struct configuration : caf::actor_system_config {
    configuration() { configure_scheduler(*this); }
  };

  void start(std::size_t branches = 1) {
    source_options options;
    options.life = 1;
    options.window = {2, 1u << 20};
    options.stats = board_.add(actor_kind::source, "source");
    options.counts = counts;
    const auto me =
        caf::actor_cast<engine_actor>(caf::actor_cast<caf::strong_actor_ptr>(caf::actor{self}));
    source = caf::actor_cast<caf::actor>(system.spawn<log_reader>(
        std::make_unique<log_double>(log), std::vector<engine_actor>(branches, me),
        caf::actor{self}, options));
    self->monitor(source);
  }

  void TearDown() override {
    if (source)
      send_exit_now(source);
  }

  /// The next message of type T; fails the test after a while.
  template <class T>
  std::optional<T> hear(std::chrono::milliseconds within = 5s) {
    std::optional<T> out;
    self->receive([&](const T& what) { out = what; }, caf::after(within) >> [] {});
    return out;
  }

  void fill(int blocks) {
    const std::lock_guard hold{log->guard};
    for (int i = 0; i < blocks; ++i)
      log->blocks.push_back(
          script{table}.begin(1, 10).insert({"1", "a", "b", "c"}).commit().take());
  }

  configuration config_;
  caf::actor_system system{config_};
  caf::scoped_actor self{system};
  board board_{"test", "0"};
  std::shared_ptr<pipeline_stats> counts = std::make_shared<pipeline_stats>("shop", "postgres");
  relation_ptr table = engine::test::shape_of("t", 1);
  std::shared_ptr<log_double::record> log = std::make_shared<log_double::record>();
  caf::actor source;
};

TEST_F(source_actor_test, says_with_the_last_block_that_nothing_follows) {
  fill(2);
  start();
  const auto first = hear<shipment>();
  const auto second = hear<shipment>();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->source_is_empty);
  EXPECT_TRUE(second->source_is_empty);
}

TEST_F(source_actor_test, reads_no_more_than_its_credit_until_it_is_paid_back) {
  fill(5);
  start();
  const auto first = hear<shipment>();
  ASSERT_TRUE(first && hear<shipment>());
  EXPECT_FALSE(hear<shipment>(50ms));
  EXPECT_EQ(log->taken, 2);
  self->send(source, repayment{1, 0, {1, first->rows->bytes()}});
  EXPECT_TRUE(hear<shipment>());
  EXPECT_FALSE(hear<shipment>(50ms));
}

TEST_F(source_actor_test, is_held_back_by_the_slowest_branch) {
  fill(5);
  start(2);
  std::size_t bytes = 0;
  for (int i = 0; i < 4; ++i)
    bytes = hear<shipment>()->rows->bytes();
  self->send(source, repayment{1, 0, {2, 2 * bytes}});
  EXPECT_FALSE(hear<shipment>(50ms));
  self->send(source, repayment{1, 1, {1, bytes}});
  EXPECT_TRUE(hear<shipment>());
}

TEST_F(source_actor_test, ignores_credit_of_an_earlier_life) {
  fill(5);
  start();
  const auto bytes = hear<shipment>()->rows->bytes();
  ASSERT_TRUE(hear<shipment>());
  self->send(source, repayment{7, 0, {2, 2 * bytes}});
  EXPECT_FALSE(hear<shipment>(50ms));
}

TEST_F(source_actor_test, has_an_unknown_shape_looked_up_elsewhere) {
  log->unknown = 42;
  fill(1);
  start();
  const auto asked = hear<shape_order>();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->oid, 42u);
  self->send(source, shape_found{42, table});
  EXPECT_TRUE(hear<shipment>());
  // Rows may leave before the shape has come; once the actor is gone it has taken both messages.
  caf::anon_send_exit(source, caf::exit_reason::user_shutdown);
  ASSERT_TRUE(hear<caf::down_msg>());
  EXPECT_EQ(log->provided, 1);
  source = nullptr;
}

TEST_F(source_actor_test, ends_with_the_error_of_its_log) {
  log->fails_with = error{errc::position_lost, "the slot is gone"};
  start();
  const auto down = hear<caf::down_msg>();
  ASSERT_TRUE(down);
  EXPECT_EQ(from_caf(down->reason), (error{errc::position_lost, "the slot is gone"}));
  EXPECT_TRUE(log->closed);
}

TEST_F(source_actor_test, passes_on_what_is_durable_and_closes_when_it_is_told_to_go) {
  start();
  self->send(source, confirmation{1, position{33}});
  caf::anon_send_exit(source, caf::exit_reason::user_shutdown);
  ASSERT_TRUE(hear<caf::down_msg>());
  EXPECT_EQ(log->confirmed, (std::vector<std::uint64_t>{33}));
  EXPECT_TRUE(log->closed);
  source = nullptr;
}

TEST_F(source_actor_test, reads_no_more_once_it_is_told_to_be_quiet) {
  start();
  self->send(source, quiet{1});
  self->send(source, position_wanted{1});
  for (auto until = std::chrono::steady_clock::now() + 5s;
       log->asked == 0 && std::chrono::steady_clock::now() < until;)
    std::this_thread::yield();
  fill(1);
  EXPECT_FALSE(hear<shipment>(50ms) && log->taken > 0);
  EXPECT_EQ(log->taken, 0);
}

} // namespace

} // namespace cdc::actors
