#include "sinks/search/search_sink.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "messages/record_names.hpp"
#include "messages/row_key.hpp"
#include "sinks/search/index_guard.hpp"
#include "sinks/search/index_shape.hpp"
#include "sinks/search/relaxed_indices.hpp"
#include "sinks/search/server_version.hpp"
#include "sinks/search/takeover.hpp"

namespace cdc::sinks::search {

namespace {

constexpr unsigned takeovers_max = 5;
constexpr unsigned state_tries_max = 12;

constexpr std::string_view state_index_body =
    R"({"settings":{"index":{"hidden":true,"number_of_shards":1,"auto_expand_replicas":"0-1"}},)"
    R"("mappings":{"dynamic":false,"properties":{"source":{"type":"keyword"},)"
    R"("cdc_actors":{"type":"object","enabled":false}}}})";

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// An orderly stop, too, may leave a load unfinished. Best effort and soon over: what is not put
/// back now is by the next start, which finds it in the checkpoint.
void put_back(const search_options& options, const std::map<std::string, index_settings>& relaxed) {
  if (relaxed.empty())
    return;
  auto over = options.over;
  over.connections = relaxed.size();
  over.connect_time = over.answer_time = std::chrono::milliseconds{700};
  const auto client = http::make_client(std::move(over));
  std::promise<void> all;
  auto left = std::make_shared<std::size_t>(relaxed.size());
  client->run([&] {
    for (const auto& [index, were] : relaxed) {
      const auto body = std::make_shared<const std::string>(restoring_body(were));
      client->send({.method = "PUT",
                    .target = fmt::format("/{}/_settings", in_path(index)),
                    .body = *body,
                    .owner = body},
                   [&all, left](const result<http::response>&) {
                     if (--*left == 0)
                       all.set_value();
                   });
    }
  });
  all.get_future().wait_for(std::chrono::milliseconds{1200});
}

std::string new_life() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

} // namespace

search_sink::search_sink(search_options options)
    : options_(std::move(options)), where_(config::to_string(options_.over.servers.front())) {
  auto over = options_.over;
  // One more than writes, so that the checkpoint never waits for them.
  over.connections = options_.write_concurrency + 1;
  over_ = http::make_client(std::move(over));
  with_.emplace(
      writing{.over = *over_,
              .pace = pace(options_.write_concurrency, options_.items_max, options_.bytes_max),
              .source = {},
              .quarantine = {options_.quarantines, options_.rejects_max}});
}

search_sink::~search_sink() {
  over_.reset();
  put_back(options_, state_.relaxed);
}

// -- opening --------------------------------------------------------------------------------------

result<sink_state> search_sink::open(const stream_identity& stream) {
  if (auto good = check_server().and_then([&] { return make_state_index(); }).and_then([&] {
        return learn_rejects();
      });
      !good)
    return tl::unexpected(good.error());
  with_->source = stream.source;
  state_.life = new_life();
  for (unsigned i = 0; i < takeovers_max; ++i) {
    const auto taken = take_over(stream);
    if (!taken)
      return tl::unexpected(taken.error());
    if (*taken)
      return state_.kept.to_sink_state();
  }
  return fail(errc::target_unavailable, "{}: other processes write the checkpoint {} as well",
              where_, state_id(stream));
}

result<void> search_sink::check_server() {
  const auto said = exchange(*over_).ask("GET", "/");
  if (!said)
    return tl::unexpected(said.error());
  return check_version(*said, options_.is_elasticsearch, where_);
}

result<void> search_sink::make_state_index() {
  exchange with(*over_);
  const auto is_there = with.ask("HEAD", fmt::format("/{}", state_index));
  if (!is_there)
    return tl::unexpected(is_there.error());
  if (is_there->status < 300)
    return {};
  const auto made = with.ask("PUT", fmt::format("/{}", state_index), std::string{state_index_body});
  if (!made)
    return tl::unexpected(made.error());
  const auto problem = read_error(made->status, made->body);
  if (made->status >= 300 && problem.type != "resource_already_exists_exception")
    return tl::unexpected(error_of(problem, where_));
  return {};
}

result<void> search_sink::learn_rejects() {
  exchange with(*over_);
  if (options_.quarantines)
    if (auto made = make_rejects_index(with); !made)
      return made;
  const auto all = read_rejects(with);
  if (!all)
    return tl::unexpected(all.error());
  for (const auto& each : *all)
    with_->quarantine.add(each.what.index, each.what.document, {each.id, each.version});
  return {};
}

result<bool> search_sink::take_over(const stream_identity& stream) {
  exchange with(*over_);
  state_path_ = fmt::format("/{}/_doc/{}", state_index, state_id(stream));
  auto found = with.ask("GET", state_path_);
  if (!found)
    return tl::unexpected(found.error());
  auto path = state_path_ + "?op_type=create";
  const auto life = state_.life;
  state_ = {};
  if (found->status < 300) {
    auto document = read_stored(found->body);
    if (!document)
      return tl::unexpected(document.error());
    auto state = read_state(document->source);
    if (!state)
      return tl::unexpected(state.error());
    if (auto same = check_stream(*state, stream, where_); !same)
      return tl::unexpected(same.error());
    state_ = std::move(*state);
    if (state_.is_foreign)
      adopt(state_, with, notices_);
    else if (auto looked = forget_lost_indices(); !looked)
      return tl::unexpected(looked.error());
    path = state_path_at(document->at);
  }
  state_.life = life;
  state_.kept.stream = stream;
  state_.is_foreign = false;
  ++state_.kept.epoch;
  state_.written_at = now();
  const auto written = with.ask("PUT", path, to_json(state_));
  if (!written)
    return tl::unexpected(written.error());
  if (written->status == 409)
    return false;
  if (written->status >= 300)
    return tl::unexpected(error_of(read_error(written->status, written->body), where_));
  const auto at = read_stored_at(written->body);
  if (!at)
    return tl::unexpected(at.error());
  stored_at_ = *at;
  return true;
}

result<void> search_sink::forget_lost_indices() {
  exchange with(*over_);
  auto& records = state_.kept.records;
  for (auto at = records.begin(); at != records.end();) {
    const auto& name = at->first;
    if (!name.starts_with(progress_prefix)) {
      ++at;
      continue;
    }
    const auto index = name.substr(progress_prefix.size());
    const auto is = look_up(with, index);
    if (!is)
      return tl::unexpected(is.error());
    if (is->is_there && (is->is_alias || is->is_guarded || !state_.guarded.contains(index))) {
      ++at;
      continue;
    }
    notices_.push_back(fmt::format("{}: index {} is not the one that was loaded any more: {}",
                                   where_, index, "its table is loaded anew"));
    std::erase_if(state_.kept.listed, [&](const listed_key& key) { return key.table == index; });
    state_.guarded.erase(index);
    at = records.erase(at);
  }
  return {};
}

// -- indices --------------------------------------------------------------------------------------

result<void> search_sink::prepare(const std::vector<target_table_ptr>& tables) {
  for (const auto& table : tables)
    if (auto done = prepare_table(*table).and_then([&] { return choose_way(*table); }); !done)
      return done;
  show_names();
  return relax(tables);
}

// -- loading --------------------------------------------------------------------------------------

/// Before a load, its indices are relaxed, and what is left of an earlier one is put back. The
/// checkpoint knows of it first.
result<void> search_sink::relax(const std::vector<target_table_ptr>& tables) {
  exchange with(*over_);
  std::vector<std::string> loading;
  for (const auto& table : tables) {
    if (is_loaded(state_.kept, table->name))
      continue;
    loading.push_back(table->name);
    if (state_.relaxed.contains(table->name))
      continue;
    const auto said =
        with.demand("GET", fmt::format("/{}/_settings?flat_settings=true", in_path(table->name)));
    if (!said)
      return tl::unexpected(said.error());
    auto were = read_settings(said->body);
    if (!were)
      return tl::unexpected(were.error());
    state_.relaxed.emplace(table->name, std::move(*were));
  }
  if (loading.empty() && state_.relaxed.empty())
    return {};
  if (auto kept = store_state(); !kept)
    return kept;
  for (const auto& index : loading)
    if (auto done = set_index(index, std::string{relaxing_body()}); !done)
      return done;
  return restore_left_over(loading);
}

/// What is loaded, and what no section speaks of any more.
result<void> search_sink::restore_left_over(const std::vector<std::string>& loading) {
  const auto is_first = !std::exchange(is_prepared_, true);
  const auto relaxed = state_.relaxed;
  for (const auto& [index, were] : relaxed) {
    const auto is_loading = std::ranges::find(loading, index) != loading.end();
    if (is_loading || (!is_first && !is_loaded(state_.kept, index)))
      continue;
    if (auto done = set_index(index, restoring_body(were)); !done)
      return done;
    state_.relaxed.erase(index);
  }
  return state_.relaxed.size() == relaxed.size() ? result<void>() : store_state();
}

/// An index that is gone has nothing to be set.
result<void> search_sink::set_index(const std::string& index, std::string body) {
  const auto said =
      exchange(*over_).ask("PUT", fmt::format("/{}/_settings", in_path(index)), std::move(body));
  if (!said)
    return tl::unexpected(said.error());
  if (said->status >= 300 && said->status != 404)
    return tl::unexpected(error_of(read_error(said->status, said->body), where_));
  return {};
}

/// An index whose load the batch finishes, and that is still relaxed.
std::optional<std::string> search_sink::index_to_restore(const batch& work) const {
  for (const auto& each : work.records) {
    std::string index{finished_table(each)};
    if (state_.relaxed.contains(index) && !given_up_.contains(index))
      return index;
  }
  return std::nullopt;
}

/// On the client's thread. What cannot be put back now is put back by the next start.
void search_sink::restore(const std::string& index) {
  is_busy_ = true;
  const auto body = std::make_shared<const std::string>(restoring_body(state_.relaxed.at(index)));
  over_->send({.method = "PUT",
               .target = fmt::format("/{}/_settings", in_path(index)),
               .body = *body,
               .owner = body},
              [this, index](const result<http::response>& said) {
                if (said && said->status < 300)
                  is_state_changed_ |= state_.relaxed.erase(index) > 0;
                else
                  given_up_.insert(index);
                is_busy_ = false;
                if (runs_.empty())
                  return;
                settle_front();
                advance();
              });
}

/// Writes the checkpoint while nothing else does.
result<void> search_sink::store_state() {
  state_.written_at = now();
  const auto said = exchange(*over_).ask("PUT", state_path_at(stored_at_), to_json(state_));
  if (!said)
    return tl::unexpected(said.error());
  if (said->status == 409)
    return tl::unexpected(fenced());
  if (said->status >= 300)
    return tl::unexpected(error_of(read_error(said->status, said->body), where_));
  const auto at = read_stored_at(said->body);
  if (!at)
    return tl::unexpected(at.error());
  stored_at_ = *at;
  return {};
}

/// Where the checkpoint is written if it is still the one that was stored there.
std::string search_sink::state_path_at(const stored_at& at) const {
  return fmt::format("{}?if_seq_no={}&if_primary_term={}", state_path_, at.seq_no, at.primary_term);
}

error search_sink::fenced() const {
  return {errc::fenced, fmt::format("{}: a newer life of this pipeline, or another process, writes "
                                    "the checkpoint now",
                                    where_)};
}

result<void> search_sink::prepare_table(const target_table& table) {
  if (auto good = check_index_name(table.name); !good)
    return good;
  if (table.key.empty() && !table.append_only)
    return fail(errc::target_misconfigured,
                "{} has no key, so its equal rows would be one document: add a primary key, or set "
                "append_only = true if rows are only ever inserted",
                to_string(table.source->table));
  exchange with(*over_);
  const auto is_there = with.ask("HEAD", "/" + in_path(table.name));
  if (!is_there)
    return tl::unexpected(is_there.error());
  if (is_there->status < 300)
    return check_mapping(table);
  if (options_.require_alias)
    return fail(
        errc::target_misconfigured,
        "{}: {} is not there; with require_alias it has to be made an alias of an index first",
        where_, table.name);
  const auto body = creation_body(table);
  if (!body)
    return tl::unexpected(body.error());
  const auto made = with.demand("PUT", "/" + in_path(table.name), *body);
  if (!made)
    return tl::unexpected(made.error());
  return {};
}

/// A column that the index does not know gets its field if the mapping is ours, and is for the
/// index's own rules otherwise.
result<void> search_sink::check_mapping(const target_table& table) {
  exchange with(*over_);
  const auto path = fmt::format("/{}/_mapping", in_path(table.name));
  const auto said = with.demand("GET", path);
  if (!said)
    return tl::unexpected(said.error());
  const auto live = read_mapping(said->body);
  if (!live)
    return tl::unexpected(live.error());
  const auto missing = compare(table, *live);
  if (!missing)
    return tl::unexpected(missing.error());
  if (missing->empty())
    return {};
  if (!live->is_ours) {
    for (const auto at : *missing)
      notices_.push_back(fmt::format("{}: the mapping of {} has no field {}: its own rules decide",
                                     where_, table.name, table.columns[at].name));
    return {};
  }
  const auto added = with.demand("PUT", path, mapping_of(table, *missing));
  if (!added)
    return tl::unexpected(added.error());
  return {};
}

/// An index is written by an alias of ours, so that one that is gone is not made by the server; an
/// alias of the user's by its name.
result<void> search_sink::choose_way(const target_table& table) {
  exchange with(*over_);
  const auto is = look_up(with, table.name);
  if (!is)
    return tl::unexpected(is.error());
  if (is->is_alias) {
    with_->to.ways[table.name] = {table.name, true};
    return {};
  }
  if (!is->is_guarded) {
    const auto done = set_guard(with, table.name);
    if (!done)
      return tl::unexpected(done.error());
    if (!*done) {
      notices_.push_back(fmt::format(
          "{}: index {} may not be given an alias: if it is deleted while it is written to, the "
          "server makes another with a mapping of its own",
          where_, table.name));
      return {};
    }
  }
  is_state_changed_ |= state_.guarded.insert(table.name).second;
  with_->to.ways[table.name] = {guard_of(table.name), false};
  return {};
}

void search_sink::show_at(const std::shared_ptr<target_gauges>& where) {
  with_->shown = where;
  with_->show_pace();
  show_names();
}

void search_sink::show_names() {
  std::vector<std::string> names;
  for (const auto& [index, way] : with_->to.ways)
    names.push_back(index);
  with_->shown->writes_to(std::move(names));
}

std::vector<std::string> search_sink::take_notices() {
  return std::exchange(notices_, {});
}

// -- batches --------------------------------------------------------------------------------------

void search_sink::submit(batch_ptr work, completion done) {
  over_->run([this, work = std::move(work), done = std::move(done)]() mutable {
    take(std::move(work), std::move(done));
  });
}

void search_sink::cancel() noexcept {
  over_->cancel();
}

void search_sink::take(batch_ptr work, completion done) {
  if (failed_)
    return done(tl::unexpected(*failed_));
  runs_.push_back(std::make_shared<batch_run>(*with_, std::move(work), std::move(done)));
  advance();
}

void search_sink::advance() {
  start_what_can();
  complete_front();
}

void search_sink::start_what_can() {
  std::size_t open = 0;
  for (std::size_t i = 0; i < runs_.size() && !failed_; ++i) {
    auto& run = *runs_[i];
    if (!run.is_started() && open < with_->pace.requests() && can_start(i))
      run.start([this] { advance(); });
    if (!run.is_started())
      return; // A batch is never overtaken: it is the one that is completed next.
    open += run.is_finished() ? 0 : 1;
  }
}

/// What is written of an earlier batch must be there first where the two meet.
bool search_sink::can_start(std::size_t at) const {
  for (std::size_t i = 0; i < at; ++i)
    if (!runs_[i]->is_finished() &&
        (runs_[i]->is_alone() || runs_[at]->is_alone() || runs_[i]->meets(*runs_[at])))
      return false;
  return true;
}

void search_sink::complete_front() {
  while (!runs_.empty() && !is_busy_ && runs_.front()->is_finished()) {
    auto& run = *runs_.front();
    if (run.failed())
      return fail_all(*run.failed());
    update_list(run);
    if (run.work().ends_transaction && wants_state(run.work()))
      return write_state();
    settle_front();
  }
}

/// Completes it, and what can go on because of it.
void search_sink::settle_front() {
  if (const auto index = index_to_restore(runs_.front()->work()))
    return restore(*index);
  const auto run = std::move(runs_.front());
  runs_.pop_front();
  if (run->work().is_durable && run->work().ends_transaction && state_.kept.resume)
    run->report().durable = state_.kept.resume->resume;
  run->done()(std::move(run->report()));
  start_what_can();
}

void search_sink::fail_all(const error& why) {
  failed_ = why;
  for (const auto& run : std::exchange(runs_, {}))
    run->done()(tl::unexpected(why));
}

// -- the list of rows to be read again ------------------------------------------------------------

std::optional<listed_key> search_sink::key_of(const batch& work, const change& it,
                                              std::uint32_t image) const {
  if (image == change::none)
    return std::nullopt;
  const auto& table = *work.tables[it.table];
  std::vector<std::uint16_t> key;
  for (const auto at : table.key)
    key.push_back(*table.columns[at].source);
  listed_key out{table.name, {}};
  const auto& from = *work.blocks[it.block];
  encode_key(from, from.image(image, *table.source), key, out.key);
  return out;
}

void search_sink::unlist(const batch& work, const change& it, std::uint32_t image) {
  if (state_.kept.listed.empty())
    return;
  if (const auto key = key_of(work, it, image))
    is_state_changed_ |= state_.kept.listed.erase(*key) > 0;
}

void search_sink::list(const batch& work, const change& it) {
  if (auto key = key_of(work, it, it.after); key && it.keep_if_missing)
    is_state_changed_ |= state_.kept.listed.insert(std::move(*key)).second;
}

/// In the order of the changes, when all before them are done.
void search_sink::update_list(batch_run& run) {
  const auto& work = run.work();
  auto& kept = state_.kept;
  auto answer = run.report().answers.begin();
  for (const auto& it : work.changes) {
    const auto is_asking = it.what == action::partial || it.what == action::move;
    if (kept.listed.empty() && !is_asking && work.listed.empty())
      continue;
    if (it.what == action::upsert)
      unlist(work, it, it.after);
    if (it.what == action::remove || it.what == action::forget || it.what == action::move)
      unlist(work, it, it.before);
    if (it.what == action::truncate)
      is_state_changed_ |= std::erase_if(kept.listed, [&](const listed_key& key) {
                             return key.table == work.tables[it.table]->name;
                           }) > 0;
    if (!is_asking)
      continue;
    const auto is_found = (answer++)->found;
    if (!is_found)
      list(work, it);
    else if (it.what == action::move)
      unlist(work, it, it.after);
  }
  for (const auto& it : work.records) {
    is_state_changed_ = true;
    if (it.value)
      kept.records[it.name] = *it.value;
    else
      kept.records.erase(it.name);
  }
  for (const auto& it : work.listed)
    is_state_changed_ |= kept.listed.insert(it).second;
  if (work.reaches && kept.resume != work.reaches) {
    is_state_changed_ = true;
    kept.resume = work.reaches;
  }
}

// -- the checkpoint -------------------------------------------------------------------------------

bool search_sink::wants_state(const batch& work) const {
  const auto is_asked = work.is_durable || !work.records.empty() || !work.listed.empty();
  return is_state_changed_ && (is_asked || runs_.size() == 1);
}

void search_sink::write_state() {
  is_busy_ = true;
  state_.written_at = now();
  const auto body = std::make_shared<const std::string>(to_json(state_));
  over_->send({.method = "PUT", .target = state_path_at(stored_at_), .body = *body, .owner = body},
              [this](result<http::response> said) { on_state_written(std::move(said)); });
}

void search_sink::on_state_written(result<http::response> said) {
  if (!said)
    return fail_all(said.error());
  if (said->status == 409)
    return look_at_state();
  if (said->status < 300) {
    const auto at = read_stored_at(said->body);
    if (!at)
      return look_at_state();
    stored_at_ = *at;
    state_wait_.reset();
    is_busy_ = false;
    is_state_changed_ = false;
    settle_front();
    return advance();
  }
  const auto problem = read_error(said->status, said->body);
  const auto what = judge(problem);
  const auto is_later = what == verdict::busy || what == verdict::again || what == verdict::blocked;
  if (!is_later || (what != verdict::blocked && state_wait_.count() >= state_tries_max))
    return fail_all(error_of(problem, fmt::format("{} (the checkpoint)", where_)));
  over_->after(state_wait_.next(), [this] { write_state(); });
}

/// It has moved on: by a newer life, or by a write of ours whose answer was lost.
void search_sink::look_at_state() {
  over_->send({.method = "GET", .target = state_path_}, [this](result<http::response> said) {
    if (!said)
      return fail_all(said.error());
    const auto document = said->status < 300
                              ? read_stored(said->body)
                              : result<stored_state_document>(
                                    fail(errc::fenced, "{}: the checkpoint is gone", where_));
    const auto state = document ? read_state(document->source)
                                : result<state_document>(tl::unexpected(document.error()));
    if (!state)
      return fail_all(state.error());
    if (state->life != state_.life)
      return fail_all(fenced());
    stored_at_ = document->at;
    write_state();
  });
}

} // namespace cdc::sinks::search
