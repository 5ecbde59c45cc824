#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/fwd.hpp>

#include "actors/board.hpp"
#include "actors/interfaces.hpp"
#include "actors/source_actor.hpp"
#include "config/config.hpp"
#include "supervision/set_up.hpp"
#include "supervision/succession.hpp"

namespace cdc::supervision {

/// The actors of one life.
struct troupe {
  struct member {
    caf::strong_actor_ptr who;
    std::string name;
    std::shared_ptr<actors::actor_stats> stats;
    bool is_of_load = false; ///< May end before the life does.
  };
  std::vector<member> members;
  actors::source_actor source;
  actors::checkpoint_actor checkpoint;
  std::vector<actors::engine_actor> engines;
  /// Ends what blocks at its resource: an actor inside a call hears no exit.
  std::vector<std::function<void()>> cancels; ///< Of readers.
  std::vector<std::function<void()>> sink_cancels;
};

/// Spawns what reads the log: a reader of this process, or the end of a link to another one.
using source_spawner = std::function<actors::source_actor(
    caf::actor_system&, life_setup&, const std::vector<actors::engine_actor>&,
    const actors::reader_actor& catalogue, const actors::source_options&)>;
[[nodiscard]] actors::source_actor
spawn_log_reader(caf::actor_system& in, life_setup& setup,
                 const std::vector<actors::engine_actor>& engines,
                 const actors::reader_actor& catalogue, const actors::source_options& options);

struct life_context {
  actors::incarnation life = 0;
  std::shared_ptr<const config::pipeline_config> config;
  std::shared_ptr<pipeline_parts> parts;
  std::shared_ptr<actors::board> board;
  std::shared_ptr<actors::pipeline_stats> counts;
  std::shared_ptr<actors::actor_stats> stats; ///< The supervisor's place on the board.
  caf::actor supervisor;
  std::shared_ptr<succession> names; ///< Knows this life's tables.
};

/// Spawns the actors of one life and lets them go. Takes the log out of `setup`.
[[nodiscard]] troupe spawn_life(caf::actor_system& in, life_setup& setup,
                                const life_context& context,
                                const source_spawner& spawn_source = spawn_log_reader);

} // namespace cdc::supervision
