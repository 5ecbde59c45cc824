#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/interfaces.hpp"
#include "sinks/sink.hpp"

namespace cdc::actors {

struct sink_options {
  incarnation life = 0;
  std::string pipeline;
  std::shared_ptr<actor_stats> stats;
  std::shared_ptr<sink_stats> counts;
};

/// Hands batches to one target and its reports back. Its end cancels what is outstanding.
class sink_actor_state {
public:
  static constexpr const char* name = "cdc.sink";

  explicit sink_actor_state(sink_actor::pointer self) : self_(self) {}
  ~sink_actor_state();

  sink_actor::behavior_type start(std::shared_ptr<sinks::sink> target, sink_options options);

private:
  using report_promise = caf::typed_response_promise<write_report>;
  using ready_promise = caf::typed_response_promise<done_atom>;
  struct outstanding {
    report_promise promise;
    std::chrono::steady_clock::time_point since;
  };

  report_promise on_work(const work& next);
  ready_promise on_new_shapes(const new_shapes& what);
  void on_written(const written& what);
  void on_prepared(const prepared& what);

  sink_actor::pointer self_;
  std::shared_ptr<sinks::sink> target_;
  sink_options options_;
  std::deque<outstanding> outstanding_;
  ready_promise preparing_;
};

/// Spawn with `system.spawn(sink_behavior, target, options)`.
sink_actor::behavior_type sink_behavior(sink_actor::stateful_pointer<sink_actor_state> self,
                                        std::shared_ptr<sinks::sink> target, sink_options options);

} // namespace cdc::actors
