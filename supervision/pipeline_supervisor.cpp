#include "supervision/pipeline_supervisor.hpp"

#include <algorithm>
#include <utility>

#include <caf/send.hpp>

#include "actors/caf_compat.hpp"

namespace cdc::supervision {

using actors::pipeline_state;
using actors::send_exit_now;

namespace {

restart_options policy_of(const config::pipeline_config& config) {
  restart_options out;
  out.source.failures_max = config.source.reconnect_max;
  out.source.backoff = config.source.reconnect_backoff;
  out.target.failures_max = config.engine.retry_max;
  out.target.backoff = config.engine.retry_backoff;
  out.target.elapsed_max = config.engine.retry_max_elapsed;
  return out;
}

double seconds(std::chrono::milliseconds span) {
  return std::chrono::duration<double>{span}.count();
}

} // namespace

// -- conversation ---------------------------------------------------------------------------------

pipeline_actor::behavior_type
pipeline_behavior(pipeline_actor::stateful_pointer<pipeline_supervisor> self, root_actor root,
                  pipeline_options options) {
  return self->state.start(std::move(root), std::move(options));
}

pipeline_actor::behavior_type pipeline_supervisor::start(root_actor root,
                                                         pipeline_options options) {
  actors::keep_house(self_);
  root_ = std::move(root);
  options_ = std::move(options);
  voice_ = log::voice{label()};
  auto policy = policy_of(*options_.config);
  policy.seed = options_.seed.value_or(policy.seed);
  policy_.emplace(policy);
  counts_ = options_.board->pipeline(
      label(), std::string{config::to_string(options_.config->source.what)}, options_.spell);
  stats_ = options_.board->add(actors::actor_kind::pipeline, "pipeline " + label(), options_.parent,
                               label());
  stats_->running();
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  self_->monitor(root_);
  begin_life();
  return {
      [this](const set_up_done& done) { on_set_up(done); },
      [this](const life_cleared& done) { on_cleared(done); },
      [this](const wake& what) { on_wake(what); },
      [this](const actors::confirmation& what) { on_confirmation(what); },
      [this](const actors::branch_loaded& what) { on_loaded(what); },
      [this](stop_atom) { on_stop(); },
      [this](const revive&) { on_revive(); },
  };
}

// -- what each message does -----------------------------------------------------------------------

void pipeline_supervisor::on_set_up(const set_up_done& done) {
  if (done.life != life_) {
    ++stale_;
    return;
  }
  setting_up_.reset();
  if (done.setup)
    setup_ = *done.setup;
  if (phase_ == phase::ending) {
    clear_when_alone();
    return;
  }
  if (!done.setup) {
    failure_ = done.setup.error();
    end_life();
    return;
  }
  run(setup_);
}

void pipeline_supervisor::on_down(const caf::down_msg& down) {
  if (down.source == root_.address()) {
    is_stopping_ = true; // Nobody would hear of a failure any more.
    on_stop();
    return;
  }
  auto& all = troupe_.members;
  const auto gone = std::find_if(all.begin(), all.end(), [&](const troupe::member& member) {
    return member.who->address() == down.source;
  });
  if (gone == all.end())
    return;
  const auto orderly = actors::is_orderly(down.reason);
  if (orderly)
    gone->stats->stopped();
  else
    gone->stats->failed(actors::from_caf(down.reason));
  const auto is_failure = !orderly || (phase_ == phase::running && !gone->is_of_load);
  if (is_failure && (phase_ == phase::running || phase_ == phase::finishing)) {
    failure_ = actors::from_caf(down.reason);
    voice_.debug("supervisor.actor_failed", "{}: {}", gone->name, failure_->detail);
  }
  all.erase(gone);
  if (phase_ == phase::ending)
    clear_when_alone();
  else if (is_failure)
    end_life();
}

void pipeline_supervisor::on_cleared(const life_cleared& done) {
  if (done.life == life_ && phase_ == phase::ending)
    decide();
}

void pipeline_supervisor::on_confirmation(const actors::confirmation& what) {
  if (what.life != life_) {
    ++stale_;
    return;
  }
  durable_ = what.durable;
  end_when_caught_up();
}

void pipeline_supervisor::on_loaded(const actors::branch_loaded& what) {
  if (what.life != life_) {
    ++stale_;
    return;
  }
  const auto was_loading = loading_.erase(what.branch) > 0;
  if (was_loading && loading_.empty() && phase_ == phase::running) {
    counts_->load_finished = true;
    counts_->enter(pipeline_state::streaming);
    voice_.info("load.finished", "every table is loaded; following the log");
  }
  end_when_caught_up();
}

void pipeline_supervisor::on_wake(const wake& what) {
  if (what.life != life_ || (phase_ != phase::waiting && phase_ != phase::halted))
    return;
  if (phase_ == phase::halted)
    policy_->forgive();
  begin_life();
}

void pipeline_supervisor::on_stop() {
  const auto again = std::exchange(is_stopping_, true);
  switch (phase_) {
    case phase::running:
      finish();
      break;
    case phase::setting_up:
      end_life();
      break;
    case phase::finishing:
      if (again)
        end_life();
      break;
    case phase::waiting:
    case phase::halted:
      be_over();
      break;
    case phase::ending:
    case phase::over:
      break;
  }
}

void pipeline_supervisor::on_revive() {
  if (phase_ != phase::halted || is_stopping_)
    return;
  policy_->forgive();
  begin_life();
}

void pipeline_supervisor::on_finished(std::size_t life) {
  if (life != life_ || phase_ != phase::finishing || --finishing_ > 0)
    return;
  // The checkpoint has heard of everything the engines reached before they answered.
  self_->request(troupe_.checkpoint, actors::deadline(options_.finish_within), finish_atom_v)
      .then([this](done_atom) { end_life(); }, [this](const caf::error&) { end_life(); });
}

// -- lives ----------------------------------------------------------------------------------------

void pipeline_supervisor::begin_life() {
  ++life_;
  phase_ = phase::setting_up;
  failure_.reset();
  durable_ = {};
  began_ = self_->clock().now();
  counts_->incarnation = life_;
  counts_->enter(life_ == 1 ? pipeline_state::starting : pipeline_state::reconnecting);
  stats_->doing("sets up");
  parts_ = options_.make_parts(options_.fresh);
  setting_up_ = std::make_shared<setting_up>(options_.config, parts_, options_.fresh);
  options_.aside(self_->system(),
                 [setting = setting_up_, home = self_->address(), life = life_]() mutable {
                   auto setup = setting->run();
                   setting.reset();
                   if (auto to = caf::actor_cast<caf::actor>(home))
                     caf::anon_send(to, set_up_done{life, std::move(setup)});
                 });
}

void pipeline_supervisor::run(const std::shared_ptr<life_setup>& setup) {
  for (const auto& note : setup->notes)
    voice_.warn("source.notice", "{}", note);
  loading_.clear();
  for (std::uint16_t branch = 0; branch < setup->branches.size(); ++branch)
    if (setup->branches[branch].needs_load())
      loading_.insert(branch);
  phase_ = phase::running;
  options_.fresh = false;
  if (!setup->branches.empty()) // All have the same tables.
    names_->begin(setup->branches.front().shapes);
  troupe_ = options_.spawn(self_->system(), *setup,
                           {.life = life_,
                            .config = options_.config,
                            .parts = parts_,
                            .board = options_.board,
                            .counts = counts_,
                            .stats = stats_,
                            .supervisor = caf::actor_cast<caf::actor>(self_->ctrl()),
                            .names = names_});
  for (const auto& member : troupe_.members)
    self_->monitor(member.who);
  stats_->doing("watches its actors");
  counts_->load_finished = loading_.empty();
  counts_->enter(loading_.empty() ? pipeline_state::streaming : pipeline_state::loading);
  voice_.info("supervisor.pipeline_running", "incarnation {} runs{}", life_,
              loading_.empty() ? "" : "; the initial load begins");
  tell_root(pipeline_news::what::running);
}

void pipeline_supervisor::end_load() {
  for (const auto& member : troupe_.members)
    if (member.is_of_load)
      send_exit_now(member.who);
  for (const auto& cancel : troupe_.cancels)
    cancel();
}

// The source goes on answering its server, and is told last what has become durable.
void pipeline_supervisor::finish() {
  phase_ = phase::finishing;
  stats_->stopping();
  stats_->doing("finishes");
  voice_.info("supervisor.pipeline_stops", "finishes the batch being written");
  caf::anon_send(troupe_.source, actors::quiet{life_});
  end_load();
  finishing_ = troupe_.engines.size();
  for (const auto& engine : troupe_.engines)
    self_->request(engine, actors::deadline(options_.finish_within), finish_atom_v)
        .then([this, life = life_](done_atom) { on_finished(life); },
              [this, life = life_](const caf::error&) {
                if (life != life_ || phase_ != phase::finishing)
                  return;
                voice_.warn("supervisor.target_stalls",
                            "a target did not take its last batch in time; what it has not taken "
                            "is still at the source");
                end_life();
              });
}

void pipeline_supervisor::end_life() {
  if (phase_ == phase::ending)
    return;
  phase_ = phase::ending;
  stats_->doing("ends a life");
  if (setting_up_)
    setting_up_->cancel();
  // The source closes last of what it was told: its exit must not overtake a confirmation.
  for (const auto& member : troupe_.members)
    if (member.who == caf::actor_cast<caf::strong_actor_ptr>(troupe_.source))
      caf::anon_send_exit(member.who, caf::exit_reason::user_shutdown);
    else
      send_exit_now(member.who);
  for (const auto& cancel : troupe_.cancels)
    cancel();
  for (const auto& cancel : troupe_.sink_cancels)
    cancel();
  clear_when_alone();
}

// What a life held is destroyed aside: closing a file or joining a thread may take its time.
void pipeline_supervisor::clear_when_alone() {
  if (!troupe_.members.empty() || setting_up_)
    return;
  troupe_ = {};
  options_.aside(self_->system(),
                 [setup = std::exchange(setup_, nullptr), parts = std::exchange(parts_, nullptr),
                  home = self_->address(), life = life_]() mutable {
                   setup.reset();
                   parts.reset();
                   if (auto to = caf::actor_cast<caf::actor>(home))
                     caf::anon_send(to, life_cleared{life});
                 });
}

void pipeline_supervisor::decide() {
  if (is_stopping_ || !failure_) {
    be_over();
    return;
  }
  counts_->failed(*failure_);
  ++counts_->reconnects;
  const auto lived =
      std::chrono::duration_cast<std::chrono::milliseconds>(self_->clock().now() - began_);
  const auto decided = policy_->failed(*failure_, lived);
  if (decided.halts) {
    halt(*failure_, decided);
    return;
  }
  phase_ = phase::waiting;
  counts_->enter(pipeline_state::reconnecting);
  stats_->doing("waits to try again");
  voice_.warn("supervisor.pipeline_failed",
              "{} ({}); failure {} of {} in a row, next try in {:.1f} s", failure_->detail,
              to_string(failure_->code), decided.failures, decided.failures_max,
              seconds(decided.delay));
  tell_root(pipeline_news::what::failed, *failure_);
  self_->delayed_send(self_, decided.delay, wake{life_});
}

void pipeline_supervisor::halt(const error& why, const restart_policy::decision& decided) {
  phase_ = phase::halted;
  counts_->enter(pipeline_state::halted);
  stats_->failed(why);
  const auto gave_up = reaction_to(why.code) == reaction::halt
                           ? std::string{}
                           : fmt::format("; gave up after {} failures in a row", decided.failures);
  voice_.error("supervisor.pipeline_halted", "{} ({}){}", why.detail, to_string(why.code), gave_up);
  const auto retry = options_.once ? std::nullopt : options_.config->engine.halted_retry;
  if (retry)
    self_->delayed_send(self_, *retry, wake{life_});
  tell_root(pipeline_news::what::halted, why, retry.has_value());
}

void pipeline_supervisor::be_over() {
  phase_ = phase::over;
  counts_->enter(pipeline_state::stopped);
  stats_->stopped();
  tell_root(pipeline_news::what::over);
  self_->quit(caf::exit_reason::normal);
}

void pipeline_supervisor::end_when_caught_up() {
  if (options_.once && phase_ == phase::running && loading_.empty() &&
      durable_ >= setup_->log_end) {
    is_stopping_ = true;
    voice_.info("supervisor.caught_up", "the targets have what the source had at the start");
    finish();
  }
}

void pipeline_supervisor::tell_root(pipeline_news::what kind, const error& why, bool comes_back) {
  if (root_)
    self_->send(root_, pipeline_news{options_.number, kind, why, comes_back});
}

} // namespace cdc::supervision
