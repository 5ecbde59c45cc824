#include "actors/checkpoint_actor.hpp"

#include <utility>

#include <caf/send.hpp>

namespace cdc::actors {

// -- conversation ---------------------------------------------------------------------------------

checkpoint_actor::behavior_type
checkpoint_behavior(checkpoint_actor::stateful_pointer<checkpoint_actor_state> self,
                    std::vector<engine_actor> branches, source_actor source,
                    checkpoint_options options) {
  return self->state.start(std::move(branches), std::move(source), std::move(options));
}

checkpoint_actor::behavior_type checkpoint_actor_state::start(std::vector<engine_actor> branches,
                                                              source_actor source,
                                                              checkpoint_options options) {
  keep_house(self_);
  branches_ = std::move(branches);
  source_ = std::move(source);
  options_ = std::move(options);
  ledger_ = position_ledger{branches_.size()};
  options_.stats->running();
  options_.stats->doing("waits for progress");
  for (const auto& branch : branches_)
    self_->send(branch, checkpoint_actor{self_});
  return {
      [this](const positions& now) { on_positions(now); },
      [this](tick_atom) { on_tick(); },
      [](finish_atom) { return done_atom_v; },
  };
}

// -- what each message does -----------------------------------------------------------------------

void checkpoint_actor_state::on_positions(const positions& now) {
  const handler_scope scope{*options_.stats};
  if (now.life != options_.life)
    return;
  if (auto moved = ledger_.move(now.branch, {now.written, now.acknowledged, now.durable}); !moved) {
    self_->quit(to_caf(moved.error()));
    return;
  }
  options_.counts->confirmed(ledger_.acknowledged_by_all(), now.commit_time);
  if (const auto durable = ledger_.confirm()) {
    caf::anon_send(source_, confirmation{options_.life, *durable});
    if (options_.supervisor)
      caf::anon_send(options_.supervisor, confirmation{options_.life, *durable});
  }
  // No timer runs while nothing moves.
  if (!is_armed_ && wants_durability()) {
    is_armed_ = true;
    self_->delayed_send(self_, options_.interval, tick_atom_v);
  }
}

void checkpoint_actor_state::on_tick() {
  const handler_scope scope{*options_.stats};
  is_armed_ = false;
  for (std::uint16_t branch = 0; branch < branches_.size(); ++branch)
    if (ledger_.wants_durability(branch))
      self_->send(branches_[branch], durable_wanted{options_.life});
}

// -- steps ----------------------------------------------------------------------------------------

bool checkpoint_actor_state::wants_durability() const noexcept {
  for (std::uint16_t branch = 0; branch < branches_.size(); ++branch)
    if (ledger_.wants_durability(branch))
      return true;
  return false;
}

} // namespace cdc::actors
