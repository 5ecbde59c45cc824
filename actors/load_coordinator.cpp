#include "actors/load_coordinator.hpp"

#include <algorithm>
#include <utility>

#include <caf/send.hpp>

#include "actors/log.hpp"

namespace cdc::actors {

// -- conversation ---------------------------------------------------------------------------------

load_coordinator_actor::behavior_type
load_behavior(load_coordinator_actor::stateful_pointer<load_coordinator> self, load_crew crew,
              load_options options) {
  return self->state.start(std::move(crew), std::move(options));
}

load_coordinator_actor::behavior_type load_coordinator::start(load_crew crew,
                                                              load_options options) {
  keep_house(self_);
  crew_ = std::move(crew);
  options_ = std::move(options);
  window_ = credit_window{options_.window};
  pace_ = token_bucket{options_.rows_per_second};
  plan_ = wave_plan{options_.wave};
  for (std::uint16_t table = 0; table < options_.shapes.size(); ++table) {
    plan_.add(options_.progress[table]);
    tables_.push_back(
        options_.pipeline_counts->table(to_string(options_.shapes[table]->table), options_.sink));
    show_table(table);
  }
  for (auto& who : crew_.readers)
    readers_.emplace_back().who = std::move(who);
  errands_.emplace(self_, crew_.engine, crew_.source, crew_.desk,
                   errand_options{.life = options_.life,
                                  .shapes = options_.shapes,
                                  .pressure_interval = options_.pressure_interval,
                                  .slot = options_.slot,
                                  .pressure_words = options_.pressure_words,
                                  .counts = options_.counts,
                                  .pipeline_counts = options_.pipeline_counts});
  errands_->answered = [this](const error* why) {
    if (why)
      note_failure(*why);
    pump();
  };
  options_.stats->running();
  self_->send(crew_.engine, load_coordinator_actor{self_});
  self_->send(self_, tick_atom_v);
  return {
      [this](const load_news& news) { on_news(news); },
      [this](const rows_read& read) { on_rows(read); },
      [this](const range_failed& failed) { on_range_failed(failed); },
      [this](tick_atom) {
        if (due_ <= now())
          due_ = clock::time_point::max();
        pump();
      },
  };
}

// -- what the engine and the readers say ----------------------------------------------------------

void load_coordinator::on_news(const load_news& news) {
  const handler_scope scope{*options_.stats};
  if (news.life != options_.life)
    return;
  window_.restore(news.back);
  errands_->wait_for(news.waits_for);
  errands_->want_proof(news.wants_proof);
  for (const auto& event : news.events)
    on_event(event);
  era_ = news.now;
  pump();
}

void load_coordinator::on_event(const engine::news& event) {
  using what = engine::news::what;
  switch (event.kind) {
    case what::wave_durable:
      plan_.wave_done();
      for (std::uint16_t table = 0; table < tables_.size(); ++table)
        show_table(table);
      break;
    case what::ranges_void:
      void_ranges();
      break;
    case what::stream_paused:
      stream_is_paused_ = true;
      break;
    case what::refetch:
      errands_->read_again(event.table, event.key);
      break;
    case what::load_finished:
      break;
  }
}

void load_coordinator::on_rows(const rows_read& read) {
  const handler_scope scope{*options_.stats};
  const auto* from = find(read.number);
  if (!from || from->at != range_reader::step::copying)
    return;
  held_.push_back({static_cast<std::size_t>(from - readers_.data()), read.number, read.rows});
  pump();
}

void load_coordinator::on_range_failed(const range_failed& failed) {
  if (const auto* from = find(failed.number))
    on_failure(static_cast<std::size_t>(from - readers_.data()), failed.number, failed.why);
}

// -- plans and waves ------------------------------------------------------------------------------

void load_coordinator::open_wave() {
  if (plan_.is_open() || wave_opens_)
    return;
  auto ranges = plan_.next_wave();
  if (ranges.empty())
    return;
  wave_opens_ = true;
  stream_is_paused_ = false;
  const auto of = era_;
  self_->request(crew_.engine, caf::infinite, wave{options_.life, of, ranges})
      .then([this, of, ranges](done_atom) {
        wave_opens_ = false;
        if (of == era_)
          unordered_.assign(ranges.begin(), ranges.end());
        pump();
      });
}

// A reader that has nothing else to do plans; a wave that is short of ranges waits for it.
void load_coordinator::give_orders() {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    auto& free = readers_[i];
    if (free.at == range_reader::step::resting && free.until <= now())
      free.at = range_reader::step::idle;
    if (free.at != range_reader::step::idle || errands_->is_under_pressure())
      continue;
    if (unordered_.empty()) {
      if (const auto table = plan_.next_to_plan())
        order_plan(i, *table);
      continue;
    }
    if (plan_.is_keyless(unordered_.front().table) && !stream_is_paused_)
      continue;
    const auto range = unordered_.front();
    unordered_.pop_front();
    order_range(i, range);
  }
}

void load_coordinator::order_plan(std::size_t to, std::uint16_t table) {
  readers_[to].at = range_reader::step::planning;
  const plan_order order{options_.shapes[table], options_.chunk_rows};
  self_->request(readers_[to].who, caf::infinite, order)
      .then(
          [this, to, table](load_plan& plan) {
            readers_[to].at = range_reader::step::idle;
            if (table < options_.keyless.size() && options_.keyless[table]) {
              plan.scheme = range_scheme::keyless;
              plan.ranges.assign(1, {});
            }
            plan_.planned(table, plan);
            self_->send(crew_.engine, table_plan{options_.life, table, plan});
            show_table(table);
            pump();
          },
          [this, to, table](const caf::error& why) {
            plan_.plan_again(table);
            rest(readers_[to], recovery_.next());
            note_failure(from_caf(why));
            pump();
          });
}

void load_coordinator::order_range(std::size_t to, range_ref range) {
  auto& reader = readers_[to];
  reader.at = range_reader::step::opening;
  reader.number = ++last_attempt_;
  reader.range = range;
  reader.of = era_;
  reader.wanted = 0;
  tables_[range.table]->starts_loading();
  const auto number = reader.number;
  self_
      ->request(
          reader.who, caf::infinite,
          range_order{number, options_.shapes[range.table], plan_.plan(range.table), range.range})
      .then([this, to, number](const sources::view& view) { on_view(to, number, view); },
            [this, to, number](const caf::error& why) { on_failure(to, number, from_caf(why)); });
}

void load_coordinator::on_view(std::size_t from, attempt number, const sources::view& view) {
  auto& reader = readers_[from];
  if (reader.number != number || reader.at != range_reader::step::opening)
    return;
  reader.at = range_reader::step::offered;
  self_
      ->request(crew_.engine, caf::infinite,
                range_view{options_.life, reader.of, reader.range, view})
      .then([this, from, number](engine::verdict verdict) { on_verdict(from, number, verdict); });
}

void load_coordinator::on_verdict(std::size_t from, attempt number, engine::verdict verdict) {
  auto& reader = readers_[from];
  if (reader.number != number || reader.at != range_reader::step::offered)
    return;
  if (verdict == engine::verdict::accepted) {
    reader.at = range_reader::step::copying;
    reader.patience.reset();
    pump();
    return;
  }
  unordered_.push_front(reader.range);
  leave(from, reader.patience.next());
}

// The engine keeps the range open; its next snapshot will see at least as much as this one did.
void load_coordinator::on_failure(std::size_t from, attempt number, const error& why) {
  auto& reader = readers_[from];
  if (reader.number != number)
    return;
  if (reader.at != range_reader::step::leaving) {
    const auto was_accepted =
        reader.at == range_reader::step::copying || reader.at == range_reader::step::ending;
    if (was_accepted)
      self_->send(crew_.engine, range_end{options_.life, reader.of, reader.range, true});
    if (reader.of == era_)
      unordered_.push_front(reader.range);
    drop_held(number);
  }
  rest(reader, recovery_.next());
  note_failure(why);
  pump();
}

void load_coordinator::void_ranges() {
  plan_.wave_void();
  unordered_.clear();
  held_.clear();
  stream_is_paused_ = false;
  for (std::size_t i = 0; i < readers_.size(); ++i)
    switch (readers_[i].at) {
      case range_reader::step::opening:
      case range_reader::step::offered:
      case range_reader::step::copying:
      case range_reader::step::ending:
        leave(i, std::chrono::milliseconds{0});
        break;
      case range_reader::step::idle:
      case range_reader::step::planning:
      case range_reader::step::leaving:
      case range_reader::step::resting:
        break;
    }
}

// -- rows -----------------------------------------------------------------------------------------

// A reader is always some blocks ahead of what was passed on, so that its connection is never idle.
void load_coordinator::want_more(range_reader& from) {
  if (from.at != range_reader::step::copying || errands_->is_under_pressure())
    return;
  const auto more = options_.blocks_ahead - from.wanted;
  if (more * 2 < options_.blocks_ahead)
    return;
  from.wanted += more;
  caf::anon_send(from.who, rows_wanted{from.number, more});
}

void load_coordinator::pass_rows() {
  while (!held_.empty()) {
    auto& next = held_.front();
    auto& from = readers_[next.reader];
    if (!next.rows) {
      const auto which = next.reader;
      held_.pop_front();
      end_range(which);
      continue;
    }
    if (!window_.open() || !pace_.open(now()))
      break;
    const auto rows = next.rows->events.size();
    window_.spend(next.rows->bytes());
    pace_.take(rows);
    tables_[from.range.table]->rows += rows;
    --from.wanted;
    self_->send(crew_.engine, range_rows{options_.life, from.of, from.range, std::move(next.rows)});
    held_.pop_front();
  }
  options_.stats->starved(!held_.empty() && !window_.open());
}

// Rows of a table without a key count only once the log is flushed beyond what they saw, while the
// connection that read them still stands: a server that crashed may have lost what it showed.
void load_coordinator::end_range(std::size_t from) {
  auto& reader = readers_[from];
  reader.at = range_reader::step::ending;
  if (!plan_.is_keyless(reader.range.table)) {
    close_range(from);
    return;
  }
  errands_->nudge([this, from, number = reader.number] {
    if (readers_[from].number == number && readers_[from].at == range_reader::step::ending)
      close_range(from);
  });
}

void load_coordinator::close_range(std::size_t from) {
  const auto number = readers_[from].number;
  self_->request(readers_[from].who, caf::infinite, range_close{number})
      .then(
          [this, from, number](done_atom) {
            auto& reader = readers_[from];
            if (reader.number != number || reader.at != range_reader::step::ending)
              return;
            failures_ = 0;
            recovery_.reset();
            self_->send(crew_.engine, range_end{options_.life, reader.of, reader.range, false});
            reader.at = range_reader::step::idle;
            pump();
          },
          [this, from, number](const caf::error& why) { on_failure(from, number, from_caf(why)); });
}

// Gives up a range whose transaction may be open.
void load_coordinator::leave(std::size_t from, std::chrono::milliseconds pause) {
  auto& reader = readers_[from];
  const auto number = reader.number;
  reader.at = range_reader::step::leaving;
  self_->request(reader.who, caf::infinite, range_close{number})
      .then(
          [this, from, pause](done_atom) {
            rest(readers_[from], pause);
            pump();
          },
          [this, from, number](const caf::error& why) { on_failure(from, number, from_caf(why)); });
}

void load_coordinator::rest(range_reader& who, std::chrono::milliseconds span) {
  who.at = range_reader::step::resting;
  who.until = now() + span;
}

void load_coordinator::drop_held(attempt number) {
  std::erase_if(held_, [number](const held_rows& held) { return held.number == number; });
}

// -- steps ----------------------------------------------------------------------------------------

void load_coordinator::pump() {
  pass_rows();
  open_wave();
  give_orders();
  for (auto& reader : readers_)
    want_more(reader);
  errands_->run(now(), is_loading());
  finish_load();
  arm();
  show();
}

void load_coordinator::finish_load() {
  if (is_announced_ || !plan_.finished() || errands_->reads_keys())
    return;
  is_announced_ = true;
  for (const auto& reader : readers_)
    send_exit_now(reader.who);
  readers_.clear();
  options_.pipeline_counts->load_paused("");
  if (options_.supervisor)
    caf::anon_send(options_.supervisor, branch_loaded{options_.life, options_.branch});
}

// One tick is on its way at a time, unless an earlier one is needed: a pending one holds a
// reference.
void load_coordinator::arm() {
  auto next = errands_->due().value_or(clock::time_point::max());
  for (const auto& reader : readers_)
    if (reader.at == range_reader::step::resting)
      next = std::min(next, reader.until);
  if (!held_.empty() && window_.open())
    next = std::min(next, now() + pace_.opens_in());
  if (next >= due_)
    return;
  due_ = next;
  const auto in = std::max(next - now(), clock::duration{0});
  self_->delayed_send(self_, std::chrono::ceil<std::chrono::microseconds>(in), tick_atom_v);
}

void load_coordinator::note_failure(const error& why) {
  if (why.code == errc::cancelled)
    return;
  ++failures_;
  if (reaction_to(why.code) == reaction::halt || failures_ > options_.failures_max) {
    self_->quit(to_caf(why));
    return;
  }
  log::voice{options_.pipeline}.warn("load.reader_failed", "{}; it tries again", why.detail);
}

load_coordinator::clock::time_point load_coordinator::now() const {
  return self_->clock().now();
}

load_coordinator::range_reader* load_coordinator::find(attempt number) noexcept {
  const auto found =
      std::find_if(readers_.begin(), readers_.end(),
                   [number](const range_reader& one) { return one.number == number; });
  return found == readers_.end() ? nullptr : &*found;
}

void load_coordinator::show_table(std::uint16_t table) {
  auto& seen = *tables_[table];
  const auto& plan = plan_.plan(table);
  seen.rows_estimate = plan.rows_estimate;
  seen.ranges = static_cast<std::uint32_t>(plan.ranges.size());
  seen.ranges_done = plan_.ranges_done(table);
  if (!plan.ranges.empty() && seen.ranges_done == seen.ranges)
    seen.loaded();
}

void load_coordinator::show() {
  auto& stats = *options_.stats;
  stats.owed(window_.out());
  if (is_announced_)
    stats.doing("rests: every table is loaded");
  else if (errands_->is_under_pressure())
    stats.doing("waits for the source's log");
  else if (!held_.empty())
    stats.doing("waits for credit");
  else
    stats.doing("has ranges read");
}

} // namespace cdc::actors
