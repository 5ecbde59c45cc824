#include "actors/sink_actor.hpp"

#include <utility>

#include <caf/send.hpp>

#include "actors/log.hpp"

namespace cdc::actors {

// -- conversation ---------------------------------------------------------------------------------

sink_actor::behavior_type sink_behavior(sink_actor::stateful_pointer<sink_actor_state> self,
                                        std::shared_ptr<sinks::sink> target, sink_options options) {
  return self->state.start(std::move(target), std::move(options));
}

sink_actor::behavior_type sink_actor_state::start(std::shared_ptr<sinks::sink> target,
                                                  sink_options options) {
  keep_house(self_);
  target_ = std::move(target);
  options_ = std::move(options);
  options_.stats->running();
  return {
      [this](const work& next) { return on_work(next); },
      [this](const new_shapes& what) { return on_new_shapes(what); },
      [this](const written& what) { on_written(what); },
      [this](const prepared& what) { on_prepared(what); },
  };
}

sink_actor_state::~sink_actor_state() {
  if (target_)
    target_->cancel();
}

// -- what each message does -----------------------------------------------------------------------

// The completion runs on a thread of the target's, maybe after this actor's end: it holds an
// address that does not keep the actor alive, and does nothing but send.
sink_actor_state::report_promise sink_actor_state::on_work(const work& next) {
  const handler_scope scope{*options_.stats};
  auto promise = self_->make_response_promise<report_promise>();
  outstanding_.push_back({promise, std::chrono::steady_clock::now()});
  options_.stats->doing("writes");
  target_->submit(next.what, [home = self_->address(), life = options_.life](auto report) {
    if (auto to = caf::actor_cast<caf::actor>(home))
      caf::anon_send(to, written{life, std::move(report)});
  });
  return promise;
}

void sink_actor_state::on_written(const written& what) {
  const handler_scope scope{*options_.stats};
  auto& counts = *options_.counts;
  if (!what.report) {
    ++counts.errors;
    self_->quit(to_caf(what.report.error()));
    return;
  }
  const auto oldest = std::move(outstanding_.front());
  outstanding_.pop_front();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - oldest.since;
  counts.batch_write.observe(took.count());
  ++counts.batches_flushed;
  counts.refused += what.report->refused.size();
  if (outstanding_.empty())
    options_.stats->doing("waits for work");
  auto promise = oldest.promise;
  promise.deliver(*what.report);
}

sink_actor_state::ready_promise sink_actor_state::on_new_shapes(const new_shapes& what) {
  const handler_scope scope{*options_.stats};
  options_.stats->doing("prepares a table");
  preparing_ = self_->make_response_promise<ready_promise>();
  run_aside(self_->system(), [target = target_, tables = what.tables, home = self_->address(),
                              life = options_.life] {
    auto done = target->prepare(tables);
    if (auto to = caf::actor_cast<caf::actor>(home))
      caf::anon_send(to, prepared{life, std::move(done)});
  });
  return preparing_;
}

void sink_actor_state::on_prepared(const prepared& what) {
  const handler_scope scope{*options_.stats};
  if (!what.done) {
    self_->quit(to_caf(what.done.error()));
    return;
  }
  for (const auto& notice : target_->take_notices())
    log::voice{options_.pipeline}.warn("sink.notice", "{}: {}", options_.counts->name, notice);
  preparing_.deliver(done_atom_v);
}

} // namespace cdc::actors
