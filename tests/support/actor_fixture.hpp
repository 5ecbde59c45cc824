#pragma once

#include <chrono>
#include <vector>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <gtest/gtest.h>

#include "actors/caf_compat.hpp"

namespace cdc::tests {

/// A system without threads: no message moves until the test says run() and no time passes until it
/// says pass_time(), so every run of a test is the same run.
class actor_fixture : public testing::Test {
  struct configuration : caf::actor_system_config {
    configuration() {
      set("scheduler.policy", caf::atom("testing"));
      set("logger.verbosity", caf::atom("quiet"));
    }
  };

  configuration config_;

protected:
  /// Spawns an actor that the fixture stops when the test ends. Two actors that hold each other's
  /// handles never die by themselves, and the system waits for the last one.
  template <class... Args>
  auto spawn(Args&&... args) {
    auto handle = system.spawn(std::forward<Args>(args)...);
    spawned_.push_back(caf::actor_cast<caf::strong_actor_ptr>(handle));
    return handle;
  }

  /// Runs every message there is; delayed ones wait for pass_time().
  void run() {
    while (scheduler_.try_run_once()) {
    }
  }
  void pass_time(std::chrono::milliseconds span) {
    scheduler_.advance_time(span);
    run();
  }
  /// Stopped with the rest when the test ends.
  template <class Handle>
  void stop_at_end(const Handle& who) {
    spawned_.push_back(caf::actor_cast<caf::strong_actor_ptr>(who));
  }

  void TearDown() override {
    for (const auto& actor : spawned_)
      actors::send_exit_now(actor);
    run();
  }

  caf::actor_system system{config_};
  caf::scoped_actor self{system, true};

private:
  caf::scheduler::test_coordinator& scheduler_ =
      dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::vector<caf::strong_actor_ptr> spawned_;
};

} // namespace cdc::tests
