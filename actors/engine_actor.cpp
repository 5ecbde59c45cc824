#include "actors/engine_actor.hpp"

#include <utility>

#include <caf/send.hpp>

#include "actors/log.hpp"
#include "engine/mapping.hpp"

namespace cdc::actors {

namespace {

rows_view view_of(const engine::accounting& rows) {
  return {.read = rows.read,
          .written = rows.written,
          .merged = rows.merged,
          .filtered = rows.filtered,
          .superseded = rows.superseded,
          .quarantined = rows.quarantined};
}

} // namespace

// -- conversation ---------------------------------------------------------------------------------

engine_actor::behavior_type engine_behavior(engine_actor::stateful_pointer<engine_actor_state> self,
                                            std::shared_ptr<engine::engine> core, sink_actor sink,
                                            engine_options options) {
  return self->state.start(std::move(core), std::move(sink), std::move(options));
}

engine_actor::behavior_type engine_actor_state::start(std::shared_ptr<engine::engine> core,
                                                      sink_actor sink, engine_options options) {
  keep_house(self_);
  core_ = std::move(core);
  sink_ = std::move(sink);
  options_ = std::move(options);
  stream_owed_ = credit_ledger{options_.window};
  load_owed_ = credit_ledger{options_.window};
  for (const auto& shape : options_.shapes)
    shapes_[shape->oid] = shape;
  news_.life = positions_.life = options_.life;
  positions_.branch = options_.branch;
  options_.stats->running();
  return {
      [this](const shipment& next) { on_shipment(next); },
      [this](const table_plan& plan) {
        if (!is_stale(plan.life, news_.now))
          core_->planned(plan.table, plan.plan);
      },
      [this](const wave& opened) { return on_wave(opened); },
      [this](const range_view& offered) { return on_view(offered); },
      [this](const range_rows& copied) { on_rows(copied); },
      [this](const range_end& ended) { on_range_end(ended); },
      [this](const found_key& found) { return on_found(found); },
      [this](const proof& shown) {
        if (is_stale(shown.life, news_.now))
          return;
        core_->prove(shown.seen);
        pump();
      },
      [this](const load_coordinator_actor& who) { on_coordinator(who); },
      [this](const checkpoint_actor& who) { on_checkpoint(who); },
      [this](const durable_wanted& asked) {
        if (is_stale(asked.life, news_.now))
          return;
        core_->ask_durable();
        pump();
      },
      [this](finish_atom) { return on_finish(); },
  };
}

// -- what each message does -----------------------------------------------------------------------

void engine_actor_state::on_shipment(const shipment& next) {
  const handler_scope scope{*options_.stats};
  options_.stats->mailbox(self_->mailbox().size());
  if (is_stale(next.life, news_.now))
    return;
  source_ = self_->current_sender();
  source_is_empty_ = next.source_is_empty;
  if (next.rows) {
    decoded_.push_back(next.decoded);
    taken_ += credit{1, next.rows->bytes()};
    if (auto taken = core_->stream(next.rows); !taken) {
      fail(taken.error());
      return;
    }
  }
  pump();
}

done_atom engine_actor_state::on_wave(const wave& opened) {
  const handler_scope scope{*options_.stats};
  if (!is_stale(opened.life, opened.of)) {
    core_->open_wave(opened.ranges);
    pump();
  }
  return done_atom_v;
}

engine::verdict engine_actor_state::on_view(const range_view& offered) {
  const handler_scope scope{*options_.stats};
  if (is_stale(offered.life, offered.of))
    return engine::verdict::not_yet;
  const auto verdict = core_->hand_over(offered.range, offered.view.seen, offered.view.log_end);
  pump();
  return verdict;
}

void engine_actor_state::on_rows(const range_rows& copied) {
  const handler_scope scope{*options_.stats};
  if (is_stale(copied.life, copied.of)) {
    load_owed_.done(copied.rows->bytes());
    pay_senders();
    return;
  }
  core_->rows(copied.range, copied.rows);
  pump();
}

void engine_actor_state::on_range_end(const range_end& ended) {
  const handler_scope scope{*options_.stats};
  if (is_stale(ended.life, ended.of))
    return;
  if (ended.lost)
    core_->lose_range(ended.range);
  else
    core_->end_range(ended.range);
  pump();
}

engine::verdict engine_actor_state::on_found(const found_key& found) {
  const handler_scope scope{*options_.stats};
  if (is_stale(found.life, news_.now))
    return engine::verdict::not_yet;
  const auto verdict = core_->hand_over(found.table, found.key, found.found.from.seen,
                                        found.found.from.log_end, found.found.row);
  pump();
  return verdict;
}

void engine_actor_state::on_coordinator(const load_coordinator_actor& who) {
  coordinator_ = who;
  pump();
}

void engine_actor_state::on_checkpoint(const checkpoint_actor& who) {
  checkpoint_ = who;
  pump();
}

engine_actor_state::done_promise engine_actor_state::on_finish() {
  finished_ = self_->make_response_promise<done_promise>();
  phase_ = phase::draining;
  options_.stats->stopping();
  pump();
  return finished_;
}

void engine_actor_state::on_report(const write_report& report) {
  const handler_scope scope{*options_.stats};
  for (const auto& each : report.refused) {
    if (!each.is_quarantined)
      return fail({errc::row_refused, fmt::format("{}: the target refuses a row: {}",
                                                  options_.counts->name, each.reason)});
    log::voice{options_.pipeline}.warn("sink.row_quarantined", "{}: put aside: {}",
                                       options_.counts->name, each.reason);
  }
  const auto before = core_->acknowledged().resume;
  if (auto completed = core_->completed(report); !completed) {
    fail(completed.error());
    return;
  }
  const auto commit_time = sent_.front().commit_time;
  sent_.pop_front();
  if (const auto reached = core_->acknowledged().resume; reached != before) {
    acknowledged_commit_ = commit_time;
    options_.counts->acknowledged(reached, commit_time);
    if (commit_time != 0)
      options_.counts->commit_to_ack.observe(static_cast<double>(utc_now() - commit_time) * 1e-6);
  }
  if (report.not_found > 0)
    log::voice{options_.pipeline}.warn(
        "sink.row_not_found", "{}: {} rows of tables without a key were not there to be removed",
        options_.counts->name, report.not_found);
  pump();
}

void engine_actor_state::on_prepared(const relation_ptr& shape, const target_table_ptr& target) {
  const handler_scope scope{*options_.stats};
  is_preparing_ = false;
  if (auto taken = core_->provide(shape, target); !taken) {
    fail(taken.error());
    return;
  }
  pump();
}

// -- steps ----------------------------------------------------------------------------------------

void engine_actor_state::pump() {
  if (phase_ == phase::open) {
    learn_shapes();
    feed_sink();
  } else {
    go_on_finishing();
  }
  pay_senders();
  tell_coordinator();
  tell_checkpoint();
  show();
}

void engine_actor_state::learn_shapes() {
  while (!is_preparing_) {
    const auto shape = core_->unknown_shape();
    if (!shape)
      return;
    is_preparing_ = true;
    introduce(shape);
  }
}

void engine_actor_state::introduce(const relation_ptr& shape) {
  auto target = options_.map(shape);
  if (!target) {
    fail(target.error());
    return;
  }
  auto& known = shapes_[shape->oid];
  const auto before = std::exchange(known, shape);
  const auto drift = before ? engine::describe_drift(*before, *shape) : std::string{};
  if (!*target || (before && drift.empty())) {
    on_prepared(shape, *target);
    return;
  }
  if (!drift.empty()) {
    options_.pipeline_counts->drifted(to_string(shape->table));
    log::voice{options_.pipeline}.warn("engine.shape_changed", "{}: {}", to_string(shape->table),
                                       drift);
    if (is_loading(*shape)) {
      fail({errc::source_unavailable,
            fmt::format("{} changed its shape while it was being loaded; what is left of the load "
                        "begins anew with the new shape",
                        to_string(shape->table))});
      return;
    }
  }
  self_->request(sink_, caf::infinite, new_shapes{options_.life, {*target}})
      .then([this, shape, target = *target](done_atom) { on_prepared(shape, target); },
            [this](caf::error& why) { self_->quit(std::move(why)); });
}

// Ranges not read yet would come in the old shape.
bool engine_actor_state::is_loading(const relation& shape) const {
  for (std::uint16_t table = 0; table < options_.shapes.size(); ++table)
    if (options_.shapes[table]->oid == shape.oid)
      return !core_->progress(table).finished();
  return false;
}

void engine_actor_state::feed_sink() {
  while (true) {
    auto next = core_->next_batch(source_is_empty_);
    if (!next) {
      fail(next.error());
      return;
    }
    if (!*next)
      return;
    submit(std::move(*next));
  }
}

void engine_actor_state::submit(batch_ptr next) {
  sent_.push_back({next->transactions.empty() ? 0 : next->transactions.back().commit_time});
  self_->request(sink_, caf::infinite, work{options_.life, std::move(next)})
      .then([this](const write_report& report) { on_report(report); },
            [this](caf::error& why) { self_->quit(std::move(why)); });
}

// Held back until a quarter of the window is due, unless nothing is left that could bring more.
void engine_actor_state::pay_senders() {
  const auto idle = core_->outstanding() == 0;
  const auto freed = core_->take_stream_credit();
  const auto now = std::chrono::steady_clock::now();
  for (auto i = freed.blocks; i > 0 && !decoded_.empty(); --i) {
    const std::chrono::duration<double> took = now - decoded_.front();
    options_.counts->decode_to_ack.observe(took.count());
    decoded_.pop_front();
  }
  stream_owed_.done(freed);
  if (const auto back = stream_owed_.take(idle); back.blocks > 0 && source_) {
    taken_.blocks -= back.blocks;
    taken_.bytes -= back.bytes;
    caf::anon_send(caf::actor_cast<source_actor>(source_),
                   repayment{options_.life, options_.branch, back});
  }
  load_owed_.done(core_->take_load_credit());
  news_.back += load_owed_.take(idle);
}

void engine_actor_state::tell_coordinator() {
  for (auto& event : core_->take_news()) {
    if (event.kind == engine::news::what::ranges_void)
      ++news_.now;
    news_.events.push_back(std::move(event));
  }
  if (!coordinator_)
    return;
  news_.waits_for = core_->waits_for();
  news_.wants_proof = core_->wants_proof();
  if (news_.events.empty() && news_.back.blocks == 0 && news_.waits_for == told_.waits_for &&
      news_.wants_proof == told_.wants_proof)
    return;
  told_.waits_for = news_.waits_for;
  told_.wants_proof = news_.wants_proof;
  self_->send(coordinator_, news_);
  news_.events.clear();
  news_.back = {};
}

void engine_actor_state::tell_checkpoint() {
  auto now = positions_;
  now.written = core_->written().resume;
  now.acknowledged = core_->acknowledged().resume;
  now.durable = core_->durable();
  now.commit_time = acknowledged_commit_;
  if (!checkpoint_ ||
      (now.written == positions_.written && now.acknowledged == positions_.acknowledged &&
       now.durable == positions_.durable))
    return;
  positions_ = now;
  self_->send(checkpoint_, now);
}

// An open large transaction stays where it is: the target rolls it back when the sink ends, and the
// source still has it.
void engine_actor_state::go_on_finishing() {
  if (phase_ == phase::draining && core_->outstanding() == 0) {
    phase_ = phase::sealing;
    if (!core_->inside_transaction()) {
      core_->ask_durable();
      auto last = core_->next_batch(true);
      if (last && *last)
        submit(std::move(*last));
    }
  }
  if (phase_ == phase::sealing && core_->outstanding() == 0) {
    phase_ = phase::sealed;
    tell_checkpoint();
    finished_.deliver(done_atom_v);
  }
}

void engine_actor_state::show() {
  auto& counts = *options_.counts;
  counts.streamed.set(view_of(core_->streamed()));
  counts.copied.set(view_of(core_->copied()));
  counts.entries = core_->entries();
  counts.refetch_listed = core_->listed();
  counts.durable = core_->durable().token;
  options_.stats->owed(taken_);
  options_.stats->in_flight(taken_.bytes);
  options_.stats->doing(is_preparing_              ? static_text{"prepares a table"}
                        : core_->outstanding() > 0 ? static_text{"waits for the sink"}
                                                   : static_text{"waits for the source"});
}

void engine_actor_state::fail(const error& why) {
  self_->quit(to_caf(why));
}

bool engine_actor_state::is_stale(incarnation life, era of) noexcept {
  const auto stale = life != options_.life || of != news_.now;
  stale_ += stale ? 1 : 0;
  return stale;
}

} // namespace cdc::actors
