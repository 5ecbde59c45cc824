#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <caf/typed_event_based_actor.hpp>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/interfaces.hpp"
#include "actors/position_ledger.hpp"

namespace cdc::actors {

struct checkpoint_options {
  incarnation life = 0;
  std::chrono::milliseconds interval{500};
  caf::actor supervisor; ///< Hears every confirmation, too. May be null.
  std::shared_ptr<actor_stats> stats;
  std::shared_ptr<pipeline_stats> counts;
};

/// Asks every branch for durability, at most once an interval and only after it has moved, and
/// tells the source the least position that is durable at all of them.
class checkpoint_actor_state {
public:
  static constexpr const char* name = "cdc.checkpoint";

  explicit checkpoint_actor_state(checkpoint_actor::pointer self) : self_(self) {}

  checkpoint_actor::behavior_type start(std::vector<engine_actor> branches, source_actor source,
                                        checkpoint_options options);

private:
  void on_positions(const positions& now);
  void on_tick();

  [[nodiscard]] bool wants_durability() const noexcept;

  checkpoint_actor::pointer self_;
  std::vector<engine_actor> branches_;
  source_actor source_;
  checkpoint_options options_;
  position_ledger ledger_{0};
  bool is_armed_ = false;
};

/// Spawn with `system.spawn(checkpoint_behavior, branches, source, options)`.
checkpoint_actor::behavior_type
checkpoint_behavior(checkpoint_actor::stateful_pointer<checkpoint_actor_state> self,
                    std::vector<engine_actor> branches, source_actor source,
                    checkpoint_options options);

} // namespace cdc::actors
