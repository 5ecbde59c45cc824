#include "actors/board.hpp"

#include <algorithm>
#include <chrono>

namespace cdc::actors {

namespace {

std::int64_t steady_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr auto relaxed = std::memory_order_relaxed;

} // namespace

std::int64_t utc_now() noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void error_note::set(std::string_view text) {
  const std::lock_guard hold{guard_};
  last_ = {std::string{text}, utc_now()};
}

error_view error_note::get() const {
  const std::lock_guard hold{guard_};
  return last_;
}

// -- one actor
// --------------------------------------------------------------------------------------

actor_stats::actor_stats(identity who, std::uint64_t restarts, error_view last_error)
    : who_(std::move(who)), restarts_(restarts), last_error_(std::move(last_error)) {}

void actor_stats::stopped() noexcept {
  doing("");
  starved(false);
  enter(actor_state::stopped);
}

void actor_stats::failed(const error& why) {
  last_error_.set(fmt::format("{}: {}", to_string(why.code), why.detail));
  stopped();
  enter(actor_state::failed);
}

void actor_stats::about(std::string what) {
  const std::lock_guard hold{about_guard_};
  about_ = std::move(what);
}

void actor_stats::mailbox(std::size_t depth) noexcept {
  const auto now = static_cast<std::uint32_t>(std::min<std::size_t>(depth, 0xffff'ffff));
  mailbox_.store(now, relaxed);
  if (now > mailbox_max_.load(relaxed))
    mailbox_max_.store(now, relaxed);
}

void actor_stats::starved(bool is_so) noexcept {
  const auto since = starved_since_.load(relaxed);
  if (is_so == (since != 0))
    return;
  if (!is_so)
    starved_.fetch_add(steady_now() - since, relaxed);
  starved_since_.store(is_so ? steady_now() : 0, relaxed);
}

actor_view actor_stats::view() const {
  const auto now = steady_now();
  const auto since = [now](const std::atomic<std::int64_t>& start) {
    const auto at = start.load(relaxed);
    return at == 0 ? std::int64_t{0} : std::max<std::int64_t>(now - at, 1);
  };
  actor_view seen{
      .id = who_.id,
      .parent = who_.parent,
      .name = who_.name,
      .kind = who_.kind,
      .node = who_.node,
      .pipeline = who_.pipeline,
      .incarnation = who_.incarnation,
      .state = state(),
      .messages = messages_.load(relaxed),
      .mailbox = mailbox_.load(relaxed),
      .mailbox_max = mailbox_max_.load(relaxed),
      .in_handler = since(in_handler_since_),
      .is_starved = starved_since_.load(relaxed) != 0,
      .held = held_.get(),
      .owed = owed_.get(),
      .in_flight = in_flight_.load(relaxed),
      .doing = doing_.load(relaxed),
      .restarts = restarts_,
      .last_error = last_error_.get(),
  };
  seen.busy = busy_.load(relaxed) + seen.in_handler;
  seen.starved = starved_.load(relaxed) + since(starved_since_);
  const std::lock_guard hold{about_guard_};
  seen.about = about_;
  return seen;
}

handler_scope::handler_scope(actor_stats& of) noexcept : of_(of), since_(steady_now()) {
  of_.in_handler_since_.store(since_, relaxed);
  of_.messages_.fetch_add(1, relaxed);
}

handler_scope::~handler_scope() {
  of_.in_handler_since_.store(0, relaxed);
  of_.busy_.fetch_add(steady_now() - since_, relaxed);
}

// -- one pipeline
// -----------------------------------------------------------------------------------

void rows_gauge::set(const rows_view& now) noexcept {
  read_.store(now.read, relaxed);
  written_.store(now.written, relaxed);
  merged_.store(now.merged, relaxed);
  filtered_.store(now.filtered, relaxed);
  superseded_.store(now.superseded, relaxed);
  quarantined_.store(now.quarantined, relaxed);
}

rows_view rows_gauge::get() const noexcept {
  return {.read = read_.load(relaxed),
          .written = written_.load(relaxed),
          .merged = merged_.load(relaxed),
          .filtered = filtered_.load(relaxed),
          .superseded = superseded_.load(relaxed),
          .quarantined = quarantined_.load(relaxed)};
}

void table_stats::starts_loading() noexcept {
  if (started_.load(relaxed) == 0)
    started_.store(utc_now(), relaxed);
  state_.store(table_state::loading, relaxed);
}

void table_stats::loaded() noexcept {
  if (finished_.load(relaxed) == 0)
    finished_.store(utc_now(), relaxed);
  state_.store(table_state::loaded, relaxed);
}

void table_stats::waits() noexcept {
  state_.store(table_state::waiting, relaxed);
}

table_view table_stats::view() const {
  return {.name = name,
          .sink = sink,
          .state = state_.load(relaxed),
          .rows = rows.load(relaxed),
          .rows_estimate = rows_estimate.load(relaxed),
          .ranges_done = ranges_done.load(relaxed),
          .ranges = ranges.load(relaxed),
          .started = started_.load(relaxed),
          .finished = finished_.load(relaxed)};
}

void sink_stats::acknowledged(position reached, std::int64_t commit_time) noexcept {
  acknowledged_.store(reached.token, relaxed);
  if (commit_time != 0)
    acknowledged_commit_.store(commit_time, relaxed);
}

namespace {

std::optional<target_view> view_of(const sinks::target_gauges& of) {
  if (of.requests_max.load(relaxed) == 0)
    return std::nullopt;
  target_view out;
  out.open = of.open.load(relaxed);
  const auto since = of.oldest_open.load(relaxed);
  if (since != 0)
    out.oldest_open_seconds =
        static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count() - since) *
        1e-9;
  out.requests_now = of.requests_now.load(relaxed);
  out.requests_max = of.requests_max.load(relaxed);
  out.items_now = of.items_now.load(relaxed);
  out.items_max = of.items_max.load(relaxed);
  out.bytes_now = of.bytes_now.load(relaxed);
  out.bytes_max = of.bytes_max.load(relaxed);
  out.retried = of.retried.load(relaxed);
  out.documents = of.documents.load(relaxed);
  out.bytes = of.bytes.load(relaxed);
  out.quarantined = of.quarantined.load(relaxed);
  out.waits_for = of.why();
  for (std::size_t i = 0; i < out.latency.size(); ++i)
    out.latency[i] = of.latency[i].view();
  return out;
}

} // namespace

sink_view sink_stats::view() const {
  return {.name = name,
          .flavor = flavor,
          .streamed = streamed.get(),
          .copied = copied.get(),
          .batches_flushed = batches_flushed.load(relaxed),
          .errors = errors.load(relaxed),
          .refused = refused.load(relaxed),
          .refetch_listed = refetch_listed.load(relaxed),
          .refetched = refetched.load(relaxed),
          .entries = entries.load(relaxed),
          // An idle log advances without a write: what is durable was acknowledged, too.
          .acknowledged = {std::max(acknowledged_.load(relaxed), durable.load(relaxed))},
          .durable = {durable.load(relaxed)},
          .acknowledged_commit = acknowledged_commit_.load(relaxed),
          .decode_to_ack = decode_to_ack.view(),
          .commit_to_ack = commit_to_ack.view(),
          .batch_write = batch_write.view(),
          .target = view_of(*target)};
}

pipeline_stats::pipeline_stats(std::string of_name, std::string of_flavor,
                               position_speller how_to_spell)
    : name(std::move(of_name)), flavor(std::move(of_flavor)), spell(std::move(how_to_spell)) {}

void pipeline_stats::received(position end, std::int64_t commit_time) noexcept {
  received_.store(end.token, relaxed);
  if (current.load(relaxed) < end.token)
    current.store(end.token, relaxed);
  if (commit_time == 0)
    return;
  if (confirmed_.load(relaxed) >= last_commit_end_.load(relaxed))
    oldest_open_commit_.store(commit_time, relaxed);
  last_commit_end_.store(end.token, relaxed);
}

void pipeline_stats::confirmed(position end, std::int64_t commit_time) noexcept {
  confirmed_.store(end.token, relaxed);
  if (commit_time != 0)
    confirmed_commit_.store(commit_time, relaxed);
}

void pipeline_stats::failed(const error& why) {
  last_error_.set(fmt::format("{}: {}", to_string(why.code), why.detail));
}

void pipeline_stats::drifted(const std::string& table) {
  const std::lock_guard hold{guard_};
  const auto known = std::find_if(drift_.begin(), drift_.end(),
                                  [&](const auto& one) { return one.table == table; });
  if (known == drift_.end())
    drift_.push_back({table, 1});
  else
    ++known->changes;
}

void pipeline_stats::slots(std::vector<slot_view> seen) {
  const std::lock_guard hold{guard_};
  slots_ = std::move(seen);
}

std::shared_ptr<table_stats> pipeline_stats::table(const std::string& table,
                                                   const std::string& of_sink) {
  const std::lock_guard hold{guard_};
  for (const auto& known : tables_)
    if (known->name == table && known->sink == of_sink)
      return known;
  return tables_.emplace_back(std::make_shared<table_stats>(table, of_sink));
}

std::shared_ptr<sink_stats> pipeline_stats::sink(const std::string& sink_name,
                                                 const std::string& of_flavor) {
  const std::lock_guard hold{guard_};
  for (const auto& known : sinks_)
    if (known->name == sink_name)
      return known;
  return sinks_.emplace_back(std::make_shared<sink_stats>(sink_name, of_flavor));
}

void pipeline_stats::view_counters(pipeline_view& into) const {
  into.incarnation = incarnation.load(relaxed);
  into.is_connected = is_connected.load(relaxed);
  into.load_finished = load_finished.load(relaxed);
  into.catch_ups = catch_ups.load(relaxed);
  into.is_catching_up = is_catching_up.load(relaxed);
  into.load_paused = paused_.load(relaxed);
  into.events_row = events_row.load(relaxed);
  into.events_truncate = events_truncate.load(relaxed);
  into.transactions = transactions.load(relaxed);
  into.stream_bytes = stream_bytes.load(relaxed);
  into.reconnects = reconnects.load(relaxed);
}

void pipeline_stats::view_lag(pipeline_view& into, std::int64_t now) const {
  into.confirmed = {confirmed_.load(relaxed)};
  into.received = {received_.load(relaxed)};
  into.current = {current.load(relaxed)};
  into.durable = {durable.load(relaxed)};
  if (into.current > into.confirmed && into.confirmed.token != 0)
    into.lag_bytes = into.current.token - into.confirmed.token;
  if (into.current > into.received && into.received.token != 0)
    into.bytes_left = into.current.token - into.received.token;
  if (confirmed_.load(relaxed) >= last_commit_end_.load(relaxed))
    return;
  const auto oldest = std::max(oldest_open_commit_.load(relaxed), confirmed_commit_.load(relaxed));
  into.lag_seconds = static_cast<double>(std::max<std::int64_t>(now - oldest, 0)) * 1e-6;
}

std::vector<std::shared_ptr<sink_stats>> pipeline_stats::all_sinks() const {
  const std::lock_guard hold{guard_};
  return sinks_;
}

pipeline_view pipeline_stats::view(std::int64_t now) const {
  pipeline_view seen;
  seen.name = name;
  seen.flavor = flavor;
  seen.spell = spell;
  seen.state = state();
  seen.last_error = last_error_.get();
  seen.reading_note = reading_note_.get();
  view_counters(seen);
  view_lag(seen, now);
  const std::lock_guard hold{guard_};
  for (const auto& table : tables_)
    seen.tables.push_back(table->view());
  for (const auto& sink : sinks_)
    seen.sinks.push_back(sink->view());
  seen.slots = slots_;
  seen.drift = drift_;
  return seen;
}

// -- the board
// --------------------------------------------------------------------------------------

board::board(std::string node, std::string version)
    : node_(std::move(node)), version_(std::move(version)), started_(utc_now()) {}

std::shared_ptr<actor_stats> board::add(actor_kind kind, std::string name,
                                        const std::shared_ptr<actor_stats>& parent,
                                        std::string pipeline, std::uint64_t incarnation) {
  const std::lock_guard hold{guard_};
  const auto above = parent ? parent->who().id : 0;
  const auto place = std::find_if(actors_.begin(), actors_.end(), [&](const auto& one) {
    return one->who().name == name && one->who().pipeline == pipeline;
  });
  const auto is_new = place == actors_.end();
  const auto id = is_new ? next_id_++ : (*place)->who().id;
  const auto earlier = is_new ? actor_view{} : (*place)->view();
  auto made =
      std::make_shared<actor_stats>(actor_stats::identity{id, above, std::move(name), kind, node_,
                                                          std::move(pipeline), incarnation},
                                    is_new ? 0 : earlier.restarts + 1, earlier.last_error);
  if (is_new)
    actors_.push_back(made);
  else
    *place = made;
  return made;
}

void board::remove(const std::shared_ptr<actor_stats>& gone) {
  const std::lock_guard hold{guard_};
  std::vector<std::uint64_t> ids{gone->who().id};
  std::erase_if(actors_, [&](const auto& one) {
    const auto is_below = std::find(ids.begin(), ids.end(), one->who().parent) != ids.end();
    if (is_below)
      ids.push_back(one->who().id);
    return is_below || one == gone;
  });
}

std::shared_ptr<pipeline_stats> board::pipeline(const std::string& name, const std::string& flavor,
                                                position_speller spell) {
  const std::lock_guard hold{guard_};
  for (const auto& known : pipelines_)
    if (known->name == name)
      return known;
  return pipelines_.emplace_back(std::make_shared<pipeline_stats>(name, flavor, std::move(spell)));
}

std::shared_ptr<pipeline_stats> board::find_pipeline(const std::string& name) const {
  const std::lock_guard hold{guard_};
  const auto found = std::ranges::find(pipelines_, name, [](const auto& one) { return one->name; });
  return found == pipelines_.end() ? nullptr : *found;
}

void board::remove_pipeline(const std::string& name) {
  const std::lock_guard hold{guard_};
  std::erase_if(pipelines_, [&](const auto& one) { return one->name == name; });
}

board_view board::view() const {
  board_view seen{.node = node_, .version = version_, .started = started_, .now = utc_now()};
  const std::lock_guard hold{guard_};
  seen.actors.reserve(actors_.size());
  for (const auto& one : actors_)
    seen.actors.push_back(one->view());
  for (const auto& one : pipelines_)
    seen.pipelines.push_back(one->view(seen.now));
  return seen;
}

} // namespace cdc::actors
