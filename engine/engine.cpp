#include "engine/engine.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/engine_state.hpp"
#include "messages/record_names.hpp"
#include "messages/row_key.hpp"

namespace cdc::engine {

namespace {

// A map of so many entries is swept at every acknowledgement: it costs less than a batch.
constexpr std::size_t swept_always_max = 1024;

bool all_are_finished(std::span<const table_setup> tables) {
  return std::ranges::all_of(
      tables, [](const table_setup& each) { return each.progress && each.progress->finished(); });
}

/// The change with this number, looked for from `from` on: answers come in the order of the
/// changes.
const change* change_of(const batch& work, std::size_t& from, std::uint64_t number) {
  if (from < work.changes.size() && work.changes[from].number > number)
    from = 0;
  while (from < work.changes.size() && work.changes[from].number < number)
    ++from;
  const auto is_there = from < work.changes.size() && work.changes[from].number == number;
  return is_there ? &work.changes[from] : nullptr;
}

} // namespace

std::string progress_record(std::string_view target_name) {
  return fmt::format("{}{}", progress_prefix, target_name);
}

result<std::optional<table_progress>> stored_progress(const sink_state& state,
                                                      std::string_view target_name) {
  const auto found = std::ranges::find(state.records, progress_record(target_name),
                                       &std::pair<std::string, std::string>::first);
  if (found == state.records.end())
    return std::optional<table_progress>{};
  return parse_progress(found->second).map([](table_progress&& read) {
    return std::optional{std::move(read)};
  });
}

bool needs_start_view(const sink_state& state, std::span<const table_setup> tables) {
  return std::ranges::any_of(tables, [&](const table_setup& each) {
    const auto is_read = !each.progress || !each.progress->finished() ||
                         std::ranges::find(state.refetch, each.target->name, &listed_key::table) !=
                             state.refetch.end();
    return is_read && !holds_gate(state, each.target->name);
  });
}

// -- start --------------------------------------------------------------------------------------

engine::state::state(engine_options options, std::vector<table_setup> tables,
                     const sink_state& at_target, start_point start, rule_switches rule)
    : written_(start.from), acknowledged_(start.from), passed_(start.from.resume),
      load_finished_(all_are_finished(tables)), options_(options), rule_(rule), from_(start.from),
      out_(options, start.from), gate_(rule, !load_finished_), load_(rule, out_, gate_),
      map_bytes_now_max_(options.map_bytes_max) {
  if (!start.is_first)
    stored_ = start.from;
  restore(std::move(tables), at_target);
  std::vector<std::string> targets;
  for (const auto& each : tables_)
    targets.push_back(each->target->name);
  gate_.covers(targets);
  if (auto done = gate_.restore(at_target); !done)
    failed_ = std::move(done.error());
  gate_.require(start.unproved);
  // What the gate requires has to be durable before any later position is.
  if (start.is_first || gate_.has_records())
    out_.seal();
  ask_refetches();
}

void engine::state::restore(std::vector<table_setup> tables, const sink_state& at_target) {
  for (auto& each : tables) {
    auto& made = *tables_.emplace_back(std::make_unique<tracked_table>(
        static_cast<std::uint16_t>(tables_.size()), each.target, rule_));
    routes_.add(each.target->source, each.target, &made);
    made.published_by = each.published_by;
    if (!each.progress)
      continue;
    made.ranges.plan(*each.target->source, std::move(each.progress->plan), each.progress->done);
    if (made.is_keyless() && made.ranges.all_finished()) {
      made.keyless.at = keyless_load::stage::loaded;
      made.keyless.seen = std::move(each.progress->keyless);
      made.keyless.until = each.progress->keyless_until;
    }
  }
  for (const auto& item : at_target.refetch) {
    const auto table = std::ranges::find_if(
        tables_, [&](const auto& each) { return each->target->name == item.table; });
    if (table != tables_.end() && !(*table)->is_keyless())
      (*table)->list.add(item.key);
  }
  for (const auto& each : tables_)
    each->settle();
  refetches_are_due_ = true;
}

// -- one step after each input ------------------------------------------------------------------

void engine::state::pump() {
  do {
    run_input();
    // The stream strictly before copied rows: they wait for what it has just passed.
    release_rows();
    release_refetches();
    if (!out_.inside())
      at_boundary();
    else if (wave_.at != open_wave_state::stage::none)
      work_is_due_ = true;
  } while (can_run());
  ask_refetches();
  settle_positions();
}

/// Between transactions, where ranges end, progress is written and the stream can stand.
void engine::state::at_boundary() {
  work_is_due_ = false;
  if (failed_)
    return;
  work_on_wave();
  if (durable_is_wanted_)
    send_durable();
  if (pause_is_wanted_)
    pause_for_keyless();
}

void engine::state::ask_durable() {
  durable_is_wanted_ = true;
  if (out_.inside())
    work_is_due_ = true;
  else
    at_boundary();
}

void engine::state::send_durable() {
  durable_is_wanted_ = false;
  if (out_.reached().resume <= durable_sent_)
    return;
  durable_sent_ = out_.reached().resume;
  out_.seal().work->is_durable = true;
}

result<void> engine::state::failure() const {
  if (failed_)
    return tl::unexpected(*failed_);
  return {};
}

// -- batches out --------------------------------------------------------------------------------

result<batch_ptr> engine::state::next_batch(bool source_is_empty) {
  if (failed_)
    return tl::unexpected(*failed_);
  bound_map();
  if (outstanding_.size() >= options_.batches_outstanding_max)
    return batch_ptr{};
  auto& ready = out_.ready();
  // While a write is open the next batch grows; a free sink takes what there is.
  if (ready.empty() && outstanding_.empty() && (source_is_empty || out_.pressing()))
    out_.release(out_.pressing());
  if (ready.empty())
    return batch_ptr{};
  auto next = std::move(ready.front());
  ready.pop_front();
  send(next);
  outstanding_.push_back(std::move(next));
  return outstanding_.back().work;
}

void engine::state::send(outgoing& next) {
  auto& work = *next.work;
  work.number = ++batches_;
  sink_is_inside_ = !work.ends_transaction;
  if (!work.ends_transaction)
    return;
  if (work.is_durable || stored_ != next.reached) {
    stored_ = next.reached;
    work.reaches = next.reached;
  }
  written_ = {std::max(written_.resume, next.reached.resume),
              std::max(written_.version, next.reached.version)};
  gate_.take_records(work.records);
  std::ranges::move(records_, std::back_inserter(work.records));
  records_.clear();
}

// -- answers in ---------------------------------------------------------------------------------

result<void> engine::state::completed(const write_report& report) {
  if (failed_)
    return tl::unexpected(*failed_);
  if (outstanding_.empty() || outstanding_.front().work->number != report.batch) {
    failed_ = error{errc::invariant_broken,
                    fmt::format("batch {} was completed out of turn", report.batch)};
    return failure();
  }
  const auto done = std::move(outstanding_.front());
  outstanding_.pop_front();
  take_answers(done, report);
  acknowledged_number_ = std::max(acknowledged_number_, done.upto);
  for (const auto& each : tables_)
    each->list.acknowledged(acknowledged_number_);
  count(done);
  take_refusals(done, report);
  give_back(done.leases);
  if (auto good = advance_positions(done, report); !good) {
    failed_ = good.error();
    return good;
  }
  gate_.acknowledged();
  if (done.is_progress)
    finish_wave();
  sweep(false);
  pump();
  return failure();
}

void engine::state::take_answers(const outgoing& done, const write_report& report) {
  if (report.answers.empty())
    return;
  std::string key;
  std::size_t at = 0;
  for (const auto& each : report.answers) {
    const auto* what = change_of(*done.work, at, each.number);
    if (what == nullptr || what->after == change::none)
      continue;
    const auto& to = *done.routes[what->table];
    const auto& rows = *done.work->blocks[what->block];
    encode_key(rows, std::span{rows.cells}.subspan(what->after, to.columns), to.key, key);
    if (each.found)
      load_.found(*to.table, key, each.number);
    else
      load_.missing(*to.table, key, each.number);
  }
  refetches_are_due_ = true;
}

void engine::state::count(const outgoing& done) {
  streamed_.written += done.rows.streamed;
  copied_.written += done.rows.copied;
  copied_.merged += done.rows.merged;
}

void engine::state::take_refusals(const outgoing& done, const write_report& report) {
  for (const auto& each : report.refused) {
    std::size_t at = 0;
    const auto* what = change_of(*done.work, at, each.number);
    if (what == nullptr)
      continue;
    auto& rows = what->is_copy ? copied_ : streamed_;
    --rows.written;
    ++rows.quarantined;
  }
}

void engine::state::give_back(const std::vector<lease>& leases) {
  for (const auto& each : leases)
    (each.is_copy ? load_credit_ : stream_credit_) += credit{1, each.bytes};
}

result<void> engine::state::advance_positions(const outgoing& done, const write_report& report) {
  if (done.work->ends_transaction)
    acknowledged_ = {std::max(acknowledged_.resume, done.reached.resume),
                     std::max(acknowledged_.version, done.reached.version)};
  if (report.durable)
    durable_ = std::max(durable_, *report.durable);
  if (acknowledged_.resume > written_.resume || durable_ > acknowledged_.resume)
    return fail(errc::invariant_broken,
                "positions out of order: written {}, acknowledged {}, durable {}",
                written_.resume.token, acknowledged_.resume.token, durable_.token);
  return {};
}

/// With nothing on its way, all that was seen is also written.
void engine::state::settle_positions() {
  if (!outstanding_.empty()) {
    std::ranges::move(out_.idle_leases(), std::back_inserter(outstanding_.back().leases));
  } else {
    give_back(out_.idle_leases());
    if (out_.empty())
      written_ = acknowledged_ = out_.reached();
  }
  out_.idle_leases().clear();
  forget_snapshots();
}

/// `is_due`: a snapshot or a range's end may have freed entries; otherwise only when it is cheap.
void engine::state::sweep(bool is_due) {
  for (const auto& each : tables_) {
    const auto entries = each->entries.size();
    if (entries == 0 && !each->all_gone.is_on) {
      each->settle();
      continue;
    }
    // After the load an entry waits for its acknowledgement only.
    const auto is_cheap =
        entries <= swept_always_max || entries >= 2 * each->swept_to || !each->ranges.any_left();
    if (is_due || is_cheap)
      load_.sweep(*each, acknowledged_number_);
  }
}

table_progress engine::state::progress(const tracked_table& table) const {
  table_progress out;
  out.plan = table.ranges.plan();
  out.done = table.ranges.done();
  out.table_oid = table.target->source->oid;
  out.published_by = table.published_by;
  if (table.is_keyless()) {
    out.keyless = table.keyless.seen;
    out.keyless_until = table.keyless.until;
  }
  return out;
}

std::size_t engine::state::entries() const {
  return std::accumulate(tables_.begin(), tables_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& each) {
                           return sum + each->entries.size() + (each->all_gone.is_on ? 1 : 0);
                         });
}

std::size_t engine::state::listed() const {
  return std::accumulate(tables_.begin(), tables_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& each) { return sum + each->list.size(); });
}

// -- the interface ------------------------------------------------------------------------------

engine::engine(engine_options options, std::vector<table_setup> tables, const sink_state& at_target,
               start_point start, rule_switches rule)
    : state_(
          std::make_unique<state>(options, std::move(tables), at_target, std::move(start), rule)) {
  // nop
}

engine::~engine() = default;
engine::engine(engine&&) noexcept = default;
engine& engine::operator=(engine&&) noexcept = default;

result<void> engine::stream(block_ptr next) {
  return state_->stream(std::move(next));
}

relation_ptr engine::unknown_shape() const {
  return state_->unknown_;
}

result<void> engine::provide(const relation_ptr& shape, target_table_ptr target) {
  return state_->provide(shape, std::move(target));
}

void engine::planned(std::uint16_t table, load_plan plan) {
  state_->planned(table, std::move(plan));
}

void engine::open_wave(std::span<const range_ref> ranges) {
  state_->open_wave(ranges);
}

verdict engine::hand_over(range_ref range, const snapshot& seen, position log_end) {
  return state_->hand_over(range, seen, log_end);
}

void engine::rows(range_ref range, block_ptr copied) {
  state_->rows(range, std::move(copied));
}

void engine::end_range(range_ref range) {
  state_->end_range(range);
}

void engine::lose_range(range_ref range) {
  state_->lose_range(range);
}

verdict engine::hand_over(std::uint16_t table, const std::string& key, const snapshot& seen,
                          position log_end, block_ptr row) {
  return state_->hand_over(table, key, seen, log_end, std::move(row));
}

void engine::prove(const snapshot& seen) {
  state_->prove(seen);
}

bool engine::wants_proof() const {
  return state_->wants_proof();
}

std::optional<position> engine::waits_for() const {
  return state_->waits_for();
}

std::vector<news> engine::take_news() {
  return std::exchange(state_->news_, {});
}

result<batch_ptr> engine::next_batch(bool source_is_empty) {
  return state_->next_batch(source_is_empty);
}

void engine::ask_durable() {
  state_->ask_durable();
}

result<void> engine::completed(const write_report& report) {
  return state_->completed(report);
}

credit engine::take_stream_credit() {
  return std::exchange(state_->stream_credit_, {});
}

credit engine::take_load_credit() {
  return std::exchange(state_->load_credit_, {});
}

checkpoint engine::written() const noexcept {
  return state_->written_;
}

checkpoint engine::acknowledged() const noexcept {
  return state_->acknowledged_;
}

position engine::durable() const noexcept {
  return state_->durable_;
}

position engine::passed() const noexcept {
  return state_->passed_;
}

std::size_t engine::outstanding() const noexcept {
  return state_->outstanding_.size();
}

bool engine::inside_transaction() const noexcept {
  return state_->sink_is_inside_;
}

bool engine::load_finished() const noexcept {
  return state_->load_finished_;
}

const accounting& engine::streamed() const noexcept {
  return state_->streamed_;
}

const accounting& engine::copied() const noexcept {
  return state_->copied_;
}

table_progress engine::progress(std::uint16_t table) const {
  return state_->progress(*state_->tables_[table]);
}

std::size_t engine::entries() const noexcept {
  return state_->entries();
}

std::size_t engine::listed() const noexcept {
  return state_->listed();
}

} // namespace cdc::engine
