#include "tests/simulation/world.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/simulation/document_target.hpp"
#include "tests/simulation/shapes.hpp"
#include "tests/simulation/table_target.hpp"

namespace cdc::simulation {

namespace {

// Blocks keep their arenas from one history to the next.
block_pool& shared_pool() {
  static block_pool pool{64};
  return pool;
}

std::uint64_t bits(const source::arguments& from) {
  // Two conditions must meet for a transaction not to be claimed: most are.
  return (from[3] & from[4]) | static_cast<std::uint64_t>(from[5] & from[6]) << 8;
}

} // namespace

world::world(const options& how, const engine::rule_switches& rule, story& told)
    : options_(how), rule_(rule), story_(told), source_(options_, told) {
  if (options_.is_document)
    target_ = std::make_unique<document_target>(options_, told);
  else
    target_ = std::make_unique<table_target>(options_, told);
  if (!story_.told())
    return;
  for (std::size_t table = 0; table < options_.tables; ++table) {
    static constexpr std::array<std::string_view, 4> kinds{"ranges by key", "ranges by page",
                                                           "no key", "not taken"};
    auto rows = std::string{};
    for (std::size_t key = 0; key < options_.keys; ++key)
      rows += fmt::format(" k{}={}", key_text(key), describe(source_.rows()[table].rows[key]));
    if (options_.kinds[table] == table_kind::keyless)
      rows = " " + describe(source_.rows()[table].bags);
    story_.say("table {}{}, {}, {} range(s), waves of {}:{}", table_name(table),
               options_.late_table == table + 1 ? ", taken only from the second life on" : "",
               kinds[static_cast<std::size_t>(options_.kinds[table])], options_.ranges,
               options_.wave, rows);
  }
}

// -- a life -------------------------------------------------------------------------------------

engine::start_point world::start_point(const sink_state& state,
                                       const std::vector<engine::table_setup>& tables) {
  engine::start_point out;
  out.is_first = !state.resume;
  out.from = state.resume.value_or(checkpoint{slot_, slot_});
  if (!engine::needs_start_view(state, tables))
    return out;
  if (out.is_first) {
    out.unproved = source_.hidden();
    return out;
  }
  if (options_.omits_start_view)
    return out;
  for (const auto xid : source_.look().in_progress)
    out.unproved.push_back(static_cast<std::uint32_t>(xid));
  return out;
}

bool world::is_taken(std::size_t table) const {
  return options_.kinds[table] != table_kind::ignored &&
         (options_.late_table != table + 1 || lives_ > 1);
}

void world::start() {
  ++lives_;
  const auto state = target_->open();
  if (!state.resume)
    slot_ = source_.log_end();
  std::vector<engine::table_setup> setups;
  std::vector<std::size_t> tables;
  std::vector<relation_ptr> shapes;
  for (std::size_t table = 0; table < options_.tables; ++table) {
    if (!is_taken(table))
      continue;
    auto progress = engine::stored_progress(state, table_name(table));
    if (!accept(progress))
      return;
    tables.push_back(table);
    shapes.push_back(source_.shape(table));
    setups.push_back({make_target(shapes.back()), std::move(*progress)});
  }
  const auto begin = start_point(state, setups);
  engine::engine_options how;
  how.batch_changes_max = options_.batch_changes;
  how.map_bytes_max = options_.map_bytes;
  how.window = {options_.blocks, std::uint64_t{1} << 20};
  const auto from = options_.starts_early ? slot_ : begin.from.resume;
  if (story_.told()) {
    std::string unproved;
    for (const auto xid : begin.unproved)
      unproved += fmt::format(" {}", xid);
    story_.say("the process starts{} at {}{}{}", begin.is_first ? " for the first time" : "",
               begin.from.resume.token, unproved.empty() ? "" : ", unproved:", unproved);
  }
  life_ = std::make_unique<life>(engine::engine{how, std::move(setups), state, begin, rule_},
                                 log_reader{source_, from, shared_pool()});
  life_->from = begin.from.resume;
  life_->stream_window = credit_window{how.window};
  life_->load = std::make_unique<coordinator>(options_, story_, source_, life_->engine,
                                              std::move(tables), std::move(shapes), shared_pool());
}

void world::crash(std::uint8_t last_writes, bool power_is_lost) {
  story_.say("CRASH{}", power_is_lost ? ", and the target loses its power" : "");
  ++tally_.crashes;
  tally_.power_cuts += power_is_lost;
  tally_ = counts();
  life_.reset();
  target_->lose_process(last_writes);
  if (power_is_lost)
    target_->lose_power();
  start();
}

world::tally world::counts() const {
  auto out = tally_;
  if (life_ == nullptr)
    return out;
  const auto& load = life_->load->counts();
  out.load.refused += load.refused;
  out.load.refetched += load.refetched;
  out.load.lost += load.lost;
  out.load.begun_anew += load.begun_anew;
  out.merged += static_cast<std::uint32_t>(life_->engine.copied().merged);
  out.superseded += static_cast<std::uint32_t>(life_->engine.copied().superseded);
  return out;
}

// -- one step -----------------------------------------------------------------------------------

bool world::take(const step& next) {
  if (!happen(next))
    return false;
  if (life_ != nullptr && wrong_.empty()) {
    settle(next.how[10] % 4 != 0 && life_->log.is_empty(), next.how[11] % 2 == 0);
    check_positions();
  }
  if (!target_->complaint().empty())
    fail("{}", target_->complaint());
  return true;
}

bool world::happen(const step& next) {
  const auto& how = next.how;
  const auto modesty = options_.modest ? bits(how) : 0;
  switch (next.what) {
    case happening::begin:
      return source_.begin(how);
    case happening::log:
      return source_.log(how[0], how[1] % 3 == 0);
    case happening::show:
      return source_.show(how[0]);
    case happening::abort:
      return source_.abort(how[0]);
    case happening::noise:
      source_.move_log();
      return true;
    case happening::reshape:
      source_.reshape(how[0] % options_.tables);
      return true;
    case happening::start:
      if (life_ != nullptr)
        return false;
      start();
      return true;
    default:
      break;
  }
  if (life_ == nullptr)
    return false;
  auto& load = *life_->load;
  switch (next.what) {
    case happening::stream:
      return stream(1 + (how[0] % 4 == 0 ? 100 : how[0] % 4 - 1));
    case happening::advance:
      return advance();
    case happening::open:
      return load.open_wave(how[0]);
    case happening::snapshot:
      return load.take_snapshot(how[0], modesty);
    case happening::hand:
      return load.hand_over(how[0]);
    case happening::read:
      return load.read(how[0], static_cast<std::uint8_t>(1 + how[1] % 4), how[2] % 2 == 0);
    case happening::lose:
      return load.lose(how[0]);
    case happening::refetch:
      return load.read_listed(how[0], modesty);
    case happening::answer:
      return load.answer_listed(how[0]);
    case happening::look:
      return load.look(modesty);
    case happening::prove:
      return load.prove();
    case happening::apply:
      return work(how[0]);
    case happening::report:
      return report();
    case happening::hear:
      return hear();
    case happening::late:
      return late(how[0]);
    case happening::durable:
      life_->engine.ask_durable();
      return true;
    case happening::confirm:
      return confirm();
    case happening::crash:
      if (how[1] % 4 == 0)
        work(how[2]);
      crash(how[0], false);
      return true;
    case happening::power:
      crash(how[0], true);
      return true;
    case happening::hand_delete: {
      const auto table = how[0] % options_.tables;
      return has_key(options_.kinds[table]) &&
             target_->remove_by_hand(table, how[1] % options_.keys);
    }
    default:
      return false;
  }
}

bool world::stream(std::size_t rows) {
  if (!life_->stream_window.open())
    return false;
  const auto block = life_->log.next(rows);
  if (block == nullptr)
    return false;
  life_->stream_window.spend(block->bytes());
  story_.say("stream: a block of {} event(s) arrives, up to {}", block->events.size(),
             life_->log.told().token);
  accept(life_->engine.stream(block));
  return true;
}

bool world::advance() {
  if (!life_->stream_window.open())
    return false;
  const auto block = life_->log.advance();
  if (block == nullptr)
    return false;
  life_->stream_window.spend(block->bytes());
  story_.say("stream: nothing below {} is to come", life_->log.told().token);
  accept(life_->engine.stream(block));
  return true;
}

bool world::work(std::uint8_t which) {
  if (!target_->work(which))
    return false;
  if (!target_->is_inside() && target_->keeps_to_checkpoint())
    check_rows();
  return true;
}

bool world::report() {
  const auto heard = target_->take_answer();
  if (!heard)
    return false;
  story_.say("engine: hears of batch {}", heard->batch);
  accept(life_->engine.completed(*heard));
  return true;
}

bool world::hear() {
  if (life_->said.empty())
    return false;
  life_->load->on(life_->said.front());
  life_->said.pop_front();
  return true;
}

bool world::late(std::uint8_t which) {
  if (!target_->receive_late(which))
    return false;
  ++tally_.late;
  return true;
}

bool world::confirm() {
  const auto durable = life_->engine.durable();
  if (durable <= slot_)
    return false;
  slot_ = durable;
  story_.say("source: is told that {} is durable", durable.token);
  if (!target_->durable() || target_->durable()->resume < slot_)
    fail("the source is told {}, the target would keep less through a power cut", slot_.token);
  return true;
}

// -- what the engine gives ----------------------------------------------------------------------

void world::settle(bool source_is_empty, bool provides) {
  auto& made = life_->engine;
  for (;;) {
    auto next = made.next_batch(source_is_empty);
    if (!accept(next) || *next == nullptr)
      break;
    if (target_->outstanding() >= 2)
      return fail("a third batch leaves while two are out");
    if (story_.told())
      story_.say(
          "engine: batch {} of {} change(s) leaves{}{}{}", (*next)->number, (*next)->changes.size(),
          (*next)->ends_transaction ? "" : ", a piece", (*next)->is_durable ? ", durable" : "",
          (*next)->reaches ? fmt::format(", reaches {}", (*next)->reaches->resume.token) : "");
    tally_.pieces += !(*next)->ends_transaction;
    target_->submit(std::move(*next));
  }
  std::ranges::move(made.take_news(), std::back_inserter(life_->said));
  while (!options_.hears_late && hear()) {
  }
  if (const auto back = made.take_stream_credit(); back.blocks > 0)
    life_->stream_window.restore(back);
  life_->load->restore(made.take_load_credit());
  while (provides && wrong_.empty()) {
    const auto shape = made.unknown_shape();
    if (shape == nullptr)
      break;
    const auto table = static_cast<std::size_t>(shape->table.name.front() - 'a');
    accept(made.provide(shape, is_taken(table) ? make_target(shape) : nullptr));
  }
}

} // namespace cdc::simulation
