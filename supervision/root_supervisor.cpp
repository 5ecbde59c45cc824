#include "supervision/root_supervisor.hpp"

#include <algorithm>
#include <utility>

#include "actors/caf_compat.hpp"

namespace cdc::supervision {

// -- conversation ---------------------------------------------------------------------------------

root_actor::behavior_type root_behavior(root_actor::stateful_pointer<root_supervisor> self,
                                        root_options options) {
  return self->state.start(std::move(options));
}

root_actor::behavior_type root_supervisor::start(root_options options) {
  actors::keep_house(self_);
  options_ = std::move(options);
  auto stats = options_.board->add(actors::actor_kind::root, "root");
  stats->running();
  stats->doing("watches the pipelines");
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  for (auto& pipeline : options_.pipelines) {
    pipeline.number = places_.size();
    pipeline.board = options_.board;
    pipeline.parent = stats;
    auto& added = places_.emplace_back();
    added.name = pipeline.config->source.name;
    added.who =
        self_->spawn<caf::monitored>(pipeline_behavior, root_actor{self_}, std::move(pipeline));
  }
  return {
      [this](const pipeline_news& news) { on_news(news); },
      [this](stop_atom) { on_stop(); },
      [this](const revive&, std::uint64_t number) { on_revive(number); },
      [](alive_atom) { return alive_atom_v; },
  };
}

// -- what each message does -----------------------------------------------------------------------

void root_supervisor::on_news(const pipeline_news& news) {
  auto& place = places_[news.pipeline];
  switch (news.kind) {
    case pipeline_news::what::running:
      place.at = stand::running;
      place.why.reset();
      break;
    case pipeline_news::what::failed:
      break;
    case pipeline_news::what::halted:
      place.at = stand::halted;
      place.comes_back = news.comes_back;
      place.why = news.why;
      break;
    case pipeline_news::what::over:
      place.at = stand::over;
      break;
  }
  end_when_none_runs();
}

void root_supervisor::on_stop() {
  is_stopping_ = true;
  for (const auto& place : places_)
    if (place.at != stand::over)
      self_->send(place.who, stop_atom_v);
  end_when_none_runs();
}

void root_supervisor::on_revive(std::uint64_t number) {
  if (number < places_.size() && places_[number].at == stand::halted)
    self_->send(places_[number].who, revive{});
}

void root_supervisor::on_down(const caf::down_msg& down) {
  for (auto& place : places_) {
    if (place.who.address() != down.source || place.at == stand::over)
      continue;
    if (!actors::is_orderly(down.reason))
      place.why = actors::from_caf(down.reason);
    place.at = stand::over;
  }
  end_when_none_runs();
}

// -- steps ----------------------------------------------------------------------------------------

// Halted pipelines keep the process alive as long as another one runs or comes back by itself.
void root_supervisor::end_when_none_runs() {
  if (!options_.over)
    return;
  const auto all = [this](auto is) { return std::all_of(places_.begin(), places_.end(), is); };
  if (!is_ready_ && all([](const stage& one) { return one.at != stand::starting; })) {
    is_ready_ = true;
    options_.ready();
  }
  const auto is_done = [this](const stage& one) {
    return one.at == stand::over || (one.at == stand::halted && !one.comes_back && !is_stopping_);
  };
  if (!all(is_done))
    return;
  outcome out;
  out.pipelines = places_.size();
  for (const auto& place : places_)
    if (place.why)
      out.halted.push_back({place.name, *place.why});
  std::exchange(options_.over, nullptr)(out);
  for (const auto& place : places_)
    if (place.at != stand::over)
      actors::send_exit_now(place.who);
  self_->quit(caf::exit_reason::normal);
}

} // namespace cdc::supervision
