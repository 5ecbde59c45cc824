// How a history ends, and what must hold in it.
#include <algorithm>

#include "messages/load.hpp"
#include "tests/simulation/shapes.hpp"
#include "tests/simulation/world.hpp"

namespace cdc::simulation {

void world::check_positions() {
  const auto& made = life_->engine;
  const auto written = made.written().resume;
  const auto acknowledged = made.acknowledged().resume;
  if (acknowledged > written)
    fail("acknowledged {} > written {}", acknowledged.token, written.token);
  if (made.durable() > acknowledged)
    fail("durable {} > acknowledged {}", made.durable().token, acknowledged.token);
  if (written < life_->written || acknowledged < life_->acknowledged)
    fail("a position goes back");
  if (made.passed() > std::max(life_->log.told(), life_->from))
    fail("the engine has passed {}, the log told {}", made.passed().token, life_->log.told().token);
  life_->written = written;
  life_->acknowledged = acknowledged;
}

void world::check_rows() {
  const auto& state = target_->state();
  if (!state.reached)
    return;
  const auto& wanted = source_.rows_at(state.reached->resume);
  for (std::size_t table = 0; table < options_.tables; ++table)
    check_table(table, wanted);
}

void world::check_table(std::size_t table, const contents& wanted) {
  const auto& state = target_->state();
  const auto stored = state.records.find(engine::progress_record(table_name(table)));
  if (stored == state.records.end())
    return;
  auto& [text, progress] = progress_[table];
  if (text != stored->second) {
    const auto parsed = parse_progress(stored->second);
    if (!accept(parsed))
      return;
    text = stored->second;
    progress = *parsed;
  }
  if (state.reached->resume < source_.emptied_until(table))
    return;
  if (options_.kinds[table] == table_kind::keyless) {
    const auto& found = state.rows[table].bags;
    const auto settled = !progress.keyless || state.reached->resume >= progress.keyless_until;
    if (progress.finished() && settled && found != wanted[table].bags)
      fail("at checkpoint {}: {} is {}, at the source {}", state.reached->resume.token,
           table_name(table), describe(found), describe(wanted[table].bags));
    return;
  }
  for (std::size_t key = 0; key < options_.keys; ++key) {
    const auto paged = options_.kinds[table] == table_kind::paged;
    const auto finished = paged ? progress.finished() : progress.done[range_of_key(options_, key)];
    const auto& found = state.rows[table].rows[key];
    const auto by_hand = state.removed_by_hand[table][key] && !found.is_there;
    if (finished && !state.listed[table][key] && !by_hand &&
        !found.same_as(wanted[table].rows[key]))
      fail("at checkpoint {}: {} k{} is {}, at the source {}", state.reached->resume.token,
           table_name(table), key_text(key), describe(found), describe(wanted[table].rows[key]));
  }
}

// -- the end ------------------------------------------------------------------------------------

void world::finish() {
  if (!wrong_.empty())
    return;
  story_.say("-- from here on all ends by itself");
  if (life_ == nullptr)
    start();
  while (source_.log(0, true) || source_.show(0)) {
  }
  settle(life_->log.is_empty(), true);
  push_all();
  if (options_.late_table != 0 && lives_ == 1 && wrong_.empty()) {
    crash(0, false);
    settle(life_->log.is_empty(), true);
    push_all();
  }
  if (!wrong_.empty())
    return;
  // What had nothing to write has not moved the checkpoint: the interval's durable batch does.
  life_->engine.ask_durable();
  settle(true, true);
  push_all();
  check_end();
}

void world::push_all() {
  for (int i = 0; wrong_.empty() && push_one(); ++i) {
    if (i > 3000)
      return fail("does not end");
    settle(life_->log.is_empty(), true);
    check_positions();
    if (!target_->complaint().empty())
      fail("{}", target_->complaint());
  }
}

// The order matters to nobody: whatever can be done is done.
bool world::push_one() {
  auto& load = *life_->load;
  if (hear() || stream(3) || work(0) || report() || load.hand_over(0) || load.answer_listed(0) ||
      load.prove())
    return true;
  if (load.read(0, 2, true) || load.take_snapshot(0, 0) || load.read_listed(0, 0) ||
      load.open_wave(0))
    return true;
  if (const auto wanted = life_->engine.waits_for(); wanted && *wanted > life_->log.told())
    return advance();
  return life_->engine.wants_proof() && load.look(0);
}

void world::check_end() {
  if (!wrong_.empty())
    return;
  const auto& made = life_->engine;
  const auto& state = target_->state();
  if (!life_->log.is_empty() || !life_->load->finished() || !made.load_finished() ||
      made.outstanding() > 0 || made.listed() > 0 || target_->is_inside())
    return fail("does not end: {} entries, {} listed, {} batches out{}{}{}", made.entries(),
                made.listed(), made.outstanding(), life_->log.is_empty() ? "" : ", log left",
                life_->load->finished() ? "" : ", load left",
                made.waits_for() ? ", rows wait" : "");
  if (made.entries() > 0)
    fail("{} entries never leave", made.entries());
  if (!source_.entries().empty() && state.reached->resume < source_.entries().back().end)
    fail("the checkpoint stays behind the log");
  check_rows();
  for (std::size_t table = 0; table < options_.tables; ++table) {
    if (!is_taken(table))
      continue;
    if (progress_[table].first.empty() || !progress_[table].second.finished())
      fail("the load of {} is not finished at the target", table_name(table));
    for (std::size_t key = 0; key < options_.keys; ++key) {
      if (state.listed[table][key])
        fail("{} k{} stays listed", table_name(table), key_text(key));
    }
  }
  check_accounts();
}

void world::check_accounts() {
  const auto& made = life_->engine;
  const auto read = made.copied().read;
  const auto& load = *life_->load;
  if (read != load.rows())
    fail("{} copied rows were handed over, {} counted", load.rows(), read);
  for (const auto* rows : {&made.streamed(), &made.copied()}) {
    const auto sum = rows->written + rows->filtered + rows->superseded + rows->quarantined;
    if (rows->read != sum)
      fail("{} rows are read, {} accounted for", rows->read, sum);
  }
  if (made.streamed().read != life_->log.rows())
    fail("{} rows were streamed, {} counted", life_->log.rows(), made.streamed().read);
}

} // namespace cdc::simulation
