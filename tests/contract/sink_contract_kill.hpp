#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/contract/sink_contract.hpp"

namespace cdc::contract {

/// A history of which every prefix can be told: transaction k, at position 10 k, writes row k, says
/// k in row 0, removes row k - 20, and every fifth one comes in three pieces.
struct known_history {
  static constexpr std::uint64_t window = 20;

  const target_table_ptr items = items_table();

  /// Calls `write` with the batches of transaction k.
  void batches_of(std::uint64_t k, batches& next,
                  const std::function<bool(batch_ptr)>& write) const {
    const auto name = std::to_string(k);
    next.upsert(items, {name, "row " + name, std::string(200 + k % 700, 'x')});
    if (k % 5 == 0 && !write(next.piece()))
      return;
    next.upsert(items, {"0", name, nullptr});
    if (k % 5 == 0 && !write(next.piece()))
      return;
    if (k > window)
      next.remove(items, {std::to_string(k - window), nullptr, nullptr});
    if (k % 7 == 0)
      next.durable();
    write(next.record("k", name).commit_at(10 * k));
  }

  [[nodiscard]] shown_rows rows_at(std::uint64_t k) const {
    shown_rows out;
    if (k == 0)
      return out;
    out.insert({"0", std::to_string(k), std::nullopt});
    for (auto i = k > window ? k - window + 1 : 1; i <= k; ++i)
      out.insert({std::to_string(i), "row " + std::to_string(i), std::string(200 + i % 700, 'x')});
    return out;
  }
};

/// Writes the history from where the target stands, and tells every acknowledged k; never returns.
[[noreturn]] inline void write_until_killed(target_under_test& target, int acknowledged) {
  const known_history history;
  const auto sink = target.make();
  const auto state = sink->open(orders_stream());
  if (!state || !sink->prepare({history.items}))
    ::_exit(1);
  batches next;
  auto k = state->resume ? state->resume->resume.token / 10 : 0;
  for (bool good = true; good;) {
    ++k;
    history.batches_of(k, next, [&](batch_ptr work) {
      good = write(*sink, std::move(work)).has_value();
      return good;
    });
    if (good && ::write(acknowledged, &k, sizeof k) != sizeof k)
      break;
  }
  ::_exit(2);
}

/// One life: a child writes, is killed after `lives` acknowledgements and some microseconds more.
/// Gives the last k it acknowledged.
inline std::uint64_t write_and_kill(target_under_test& target, int acknowledgements,
                                    useconds_t then) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const auto child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    write_until_killed(target, pipe[1]);
  }
  ::close(pipe[1]);
  std::uint64_t last = 0;
  for (int i = 0; i < acknowledgements; ++i)
    if (::read(pipe[0], &last, sizeof last) != sizeof last)
      break;
  ::usleep(then);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself with " << WEXITSTATUS(status);
  while (::read(pipe[0], &last, sizeof last) == sizeof last) {
  }
  ::close(pipe[0]);
  return last;
}

/// Kills a writer again and again on one target; after each, what is there must be a whole prefix
/// of the history that holds all it acknowledged. `check` sees k.
inline void survive_kills(target_under_test& target, int kills, unsigned seed,
                          const std::function<void(std::uint64_t)>& check) {
  const known_history history;
  std::mt19937 random(seed);
  for (int i = 0; i < kills; ++i) {
    const auto acknowledgements = 1 + static_cast<int>(random() % 40);
    const auto acknowledged =
        write_and_kill(target, acknowledgements, static_cast<useconds_t>(random() % 3000));
    const auto sink = target.make();
    const auto state = sink->open(orders_stream());
    ASSERT_TRUE(state) << state.error().detail;
    ASSERT_TRUE(state->resume);
    const auto k = state->resume->resume.token / 10;
    EXPECT_GE(k, acknowledged) << "kill " << i << ": an acknowledged transaction is gone";
    EXPECT_EQ(target.rows(history.items), history.rows_at(k)) << "kill " << i << " at " << k;
    using pairs = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(state->records, (pairs{{"k", std::to_string(k)}})) << "kill " << i;
    check(k);
    if (::testing::Test::HasFailure())
      return;
  }
}

} // namespace cdc::contract
