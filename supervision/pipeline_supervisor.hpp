#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <caf/typed_event_based_actor.hpp>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/log.hpp"
#include "config/config.hpp"
#include "supervision/interfaces.hpp"
#include "supervision/restart_policy.hpp"
#include "supervision/troupe.hpp"

namespace cdc::supervision {

struct pipeline_options {
  std::size_t number = 0;
  std::shared_ptr<const config::pipeline_config> config;
  std::function<std::shared_ptr<pipeline_parts>(bool fresh)> make_parts;
  /// spawn_life(), or what a test puts in its place.
  std::function<troupe(caf::actor_system&, life_setup&, const life_context&)> spawn =
      [](caf::actor_system& in, life_setup& setup, const life_context& context) {
        return spawn_life(in, setup, context);
      };
  /// Runs what blocks; a test runs it on the spot.
  std::function<void(caf::actor_system&, std::function<void()>)> aside = actors::run_aside;
  actors::position_speller spell = actors::spell_token; ///< How the source's positions are shown.
  bool fresh = false; ///< The first life drops the slot and what the targets hold of it.
  bool once = false;  ///< Ends when the load is done and the log's end of the start is reached.
  std::chrono::milliseconds finish_within{1500};
  std::optional<std::uint32_t> seed; ///< Of the restart policy's jitter.
  std::shared_ptr<actors::board> board;
  std::shared_ptr<actors::actor_stats> parent;
};

/// Runs one pipeline: prepares a life, spawns its actors, and at the first failure of any of them
/// ends all the others. A new life begins only when nothing of the old one is left: two sources
/// would fight for one slot, and a half-buffered transaction is void once the log is read again.
class pipeline_supervisor {
public:
  static constexpr const char* name = "cdc.pipeline";

  explicit pipeline_supervisor(pipeline_actor::pointer self) : self_(self) {}

  pipeline_actor::behavior_type start(root_actor root, pipeline_options options);

private:
  enum class phase : std::uint8_t {
    setting_up,
    running,
    finishing, ///< Asked to end; the targets take what they were given.
    ending,    ///< Every actor was told to go.
    waiting,   ///< For the next life.
    halted,
    over,
  };

  void on_set_up(const set_up_done& done);
  void on_down(const caf::down_msg& down);
  void on_cleared(const life_cleared& done);
  void on_confirmation(const actors::confirmation& what);
  void on_loaded(const actors::branch_loaded& what);
  void on_wake(const wake& what);
  void on_stop();
  void on_revive();
  void on_finished(std::size_t life);

  void begin_life();
  void run(const std::shared_ptr<life_setup>& setup);
  void end_load();
  void finish();
  void end_life();
  void clear_when_alone();
  void decide();
  void halt(const error& why, const restart_policy::decision& decided);
  void be_over();
  void end_when_caught_up();
  void tell_root(pipeline_news::what kind, const error& why = {}, bool comes_back = false);
  [[nodiscard]] std::string label() const { return options_.config->source.name; }

  pipeline_actor::pointer self_;
  root_actor root_;
  pipeline_options options_;
  log::voice voice_;
  std::optional<restart_policy> policy_;
  std::shared_ptr<actors::actor_stats> stats_;
  std::shared_ptr<actors::pipeline_stats> counts_;
  std::shared_ptr<succession> names_ = std::make_shared<succession>();

  phase phase_ = phase::setting_up;
  bool is_stopping_ = false;
  incarnation life_ = 0;
  caf::actor_clock::time_point began_{};
  std::shared_ptr<pipeline_parts> parts_;
  std::shared_ptr<setting_up> setting_up_; ///< While it runs.
  std::shared_ptr<life_setup> setup_;
  troupe troupe_;
  std::optional<error> failure_;    ///< The first one of this life.
  std::size_t finishing_ = 0;       ///< Engines that have not answered.
  std::set<std::uint16_t> loading_; ///< Branches whose load is not done.
  position durable_;
  std::uint64_t stale_ = 0;
};

/// Spawn with `system.spawn(pipeline_behavior, root, options)`.
pipeline_actor::behavior_type
pipeline_behavior(pipeline_actor::stateful_pointer<pipeline_supervisor> self, root_actor root,
                  pipeline_options options);

} // namespace cdc::supervision
