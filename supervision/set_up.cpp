#include "supervision/set_up.hpp"

#include <algorithm>
#include <future>
#include <set>
#include <string_view>
#include <utility>

#include "engine/mapping.hpp"
#include "messages/record_names.hpp"

namespace cdc::supervision {

namespace {

result<target_table_ptr> map_to_section(const relation_ptr& shape,
                                        const config::sync_config& section) {
  const auto keyed = engine::with_key(shape, section);
  if (!keyed)
    return tl::unexpected(keyed.error());
  return engine::make_target(*keyed, section);
}

position least_resume(const std::vector<sink_state>& states, position start) {
  auto least = position{UINT64_MAX};
  for (const auto& state : states)
    least = std::min(least, state.resume ? state.resume->resume : start);
  return least;
}

/// One durable batch: the tables without a row, the records, and the checkpoint.
result<void> empty(sinks::sink& target, const std::vector<target_table_ptr>& tables,
                   std::vector<record> records, const checkpoint& reached) {
  auto work = std::make_shared<batch>();
  work->tables = tables;
  work->blocks.push_back(std::make_shared<block>());
  for (std::uint16_t table = 0; table < tables.size(); ++table)
    work->changes.push_back({.what = action::truncate, .table = table});
  work->records = std::move(records);
  work->reaches = reached;
  work->is_durable = true;
  std::promise<result<write_report>> written;
  target.submit(work, [&](auto report) { written.set_value(std::move(report)); });
  auto report = written.get_future().get();
  if (!report)
    return tl::unexpected(report.error());
  return {};
}

/// Whether what was loaded is not what is followed now.
bool differs(std::uint32_t loaded, std::uint32_t now) noexcept {
  return loaded != 0 && now != 0 && loaded != now;
}

/// A table of the target whose copy is not to be gone on with, and why.
struct outdated {
  target_table_ptr table;
  std::string_view why;
};

/// Those of `tables` whose progress is that of another table, which had the name before, or that
/// were not followed for a while.
result<std::vector<outdated>> replaced(const std::vector<target_table_ptr>& tables,
                                       const std::vector<ready_source::table>& from,
                                       const sink_state& state) {
  std::vector<outdated> out;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto& table = tables[i];
    const auto progress = engine::stored_progress(state, table->name);
    if (!progress)
      return tl::unexpected(progress.error());
    if (!*progress)
      continue;
    if (differs((*progress)->table_oid, table->source->oid))
      out.push_back({table, "is another table than the one that was loaded (dropped and created "
                            "again, or renamed to it)"});
    else if ((*progress)->is_left)
      out.push_back({table, "was not taken by any section for a while"});
    else if (differs((*progress)->published_by, from[i].published_by))
      out.push_back({table, "was taken out of the publication and put back, and what changed "
                            "meanwhile is not in the log"});
  }
  return out;
}

/// What is noted of tables that no section takes any more: their rows stay as they are, and if they
/// are taken again later, their changes until then will be missing.
result<std::vector<record>> left_behind(const std::vector<target_table_ptr>& tables,
                                        const sink_state& state) {
  std::vector<record> out;
  std::set<std::string_view> taken;
  for (const auto& table : tables)
    taken.insert(table->name);
  for (const auto& [name, value] : state.records) {
    if (!name.starts_with(progress_prefix) ||
        taken.contains(std::string_view{name}.substr(progress_prefix.size())))
      continue;
    auto progress = parse_progress(value);
    if (!progress)
      return tl::unexpected(progress.error());
    if (!std::exchange(progress->is_left, true))
      out.push_back({name, to_text(*progress)});
  }
  return out;
}

} // namespace

bool branch_setup::needs_load() const noexcept {
  return listed > 0 || std::any_of(progress.begin(), progress.end(),
                                   [](const auto& table) { return !table || !table->finished(); });
}

result<target_table_ptr> map_shape(const config::pipeline_config& config,
                                   const relation_ptr& shape) {
  const auto* section = engine::section_for(config.syncs, shape->table);
  return section ? map_to_section(shape, *section) : result<target_table_ptr>{nullptr};
}

result<std::shared_ptr<life_setup>> setting_up::run() {
  auto life = std::make_shared<life_setup>();
  if (auto opened = open_sinks(*life); !opened)
    return tl::unexpected(opened.error());
  std::vector<std::optional<position>> resumes;
  for (const auto& state : states_)
    resumes.push_back(state.resume && !fresh_ ? std::optional{state.resume->resume} : std::nullopt);
  auto source = parts_->prepare_source(resumes);
  if (!source)
    return tl::unexpected(source.error());
  for (std::size_t target = 0; target < life->branches.size(); ++target)
    if (auto filled = fill_branch(life->branches[target], target, *source); !filled)
      return tl::unexpected(filled.error());
  auto log = parts_->make_stream(least_resume(states_, source->start));
  if (!log)
    return tl::unexpected(log.error());
  life->log = std::move(*log);
  life->log_end = source->log_end;
  life->notes = std::move(source->notes);
  life->log_name = std::move(source->log_name);
  life->under_pressure = source->under_pressure;
  for (const auto& branch : life->branches)
    for (const auto& notice : branch.sink->take_notices())
      life->notes.push_back(branch.name + ": " + notice);
  return life;
}

result<void> begin_anew(sinks::sink& target, sink_state& state,
                        const std::vector<target_table_ptr>& tables, position start) {
  std::vector<record> records;
  for (const auto& [name, value] : state.records)
    records.push_back({name, std::nullopt});
  const auto from = checkpoint{start, start};
  if (auto emptied = empty(target, tables, std::move(records), from); !emptied)
    return emptied;
  state.resume = from;
  state.records.clear();
  state.refetch.clear();
  return {};
}

result<void> forget_tables(sinks::sink& target, sink_state& state,
                           const std::vector<target_table_ptr>& tables, position start) {
  if (tables.empty())
    return {};
  std::vector<record> records;
  for (const auto& table : tables)
    records.push_back({engine::progress_record(table->name), std::nullopt});
  const auto from = state.resume.value_or(checkpoint{start, start});
  if (auto emptied = empty(target, tables, records, from); !emptied)
    return emptied;
  state.resume = from;
  std::erase_if(state.records, [&](const auto& kept) {
    return std::ranges::find(records, kept.first, &record::name) != records.end();
  });
  std::erase_if(state.refetch, [&](const auto& listed) {
    return std::ranges::find(tables, listed.table, [](const auto& table) { return table->name; }) !=
           tables.end();
  });
  return {};
}

void setting_up::cancel() noexcept {
  parts_->cancel();
  const std::lock_guard hold{guard_};
  is_cancelled_ = true;
  for (const auto& sink : open_)
    sink->cancel();
}

result<void> setting_up::open_sinks(life_setup& into) {
  const auto stream = parts_->identify();
  if (!stream)
    return tl::unexpected(stream.error());
  for (std::size_t target = 0; target < config_->targets.size(); ++target) {
    auto made = parts_->make_sink(target);
    if (!made)
      return tl::unexpected(made.error());
    std::shared_ptr<sinks::sink> sink = std::move(*made);
    {
      const std::lock_guard hold{guard_};
      if (is_cancelled_)
        return fail(errc::cancelled, "stopped while the targets were being opened");
      open_.push_back(sink);
    }
    auto state = sink->open(*stream);
    if (!state)
      return tl::unexpected(state.error());
    auto& branch = into.branches.emplace_back();
    branch.name = config_->targets[target].name;
    branch.sink = std::move(sink);
    states_.push_back(std::move(*state));
  }
  return {};
}

result<void> setting_up::fill_branch(branch_setup& branch, std::size_t target,
                                     ready_source& source) {
  auto& state = states_[target];
  std::vector<target_table_ptr> targets;
  for (const auto& table : source.tables) {
    auto mapped = map_to_section(table.shape, config_->syncs[table.section]);
    if (!mapped)
      return tl::unexpected(mapped.error());
    targets.push_back(std::move(*mapped));
  }
  if (auto prepared = branch.sink->prepare(targets); !prepared)
    return prepared;
  if (fresh_)
    if (auto emptied = begin_anew(*branch.sink, state, targets, source.start); !emptied)
      return emptied;
  const auto others = replaced(targets, source.tables, state);
  if (!others)
    return tl::unexpected(others.error());
  std::vector<target_table_ptr> anew;
  for (const auto& [table, why] : *others) {
    anew.push_back(table);
    source.notes.push_back(fmt::format("{} {}: {} is emptied and loaded anew",
                                       to_string(table->source->table), why, branch.name));
  }
  if (auto emptied = forget_tables(*branch.sink, state, anew, source.start); !emptied)
    return emptied;
  const auto left = left_behind(targets, state);
  if (!left)
    return tl::unexpected(left.error());
  if (state.resume && !left->empty())
    if (auto noted = empty(*branch.sink, {}, *left, *state.resume); !noted)
      return noted;
  std::vector<engine::table_setup> tables;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto& mapped = targets[i];
    auto progress = engine::stored_progress(state, mapped->name);
    if (!progress)
      return tl::unexpected(progress.error());
    branch.shapes.push_back(mapped->source);
    branch.keyless.push_back(mapped->key.empty());
    branch.progress.push_back(*progress);
    tables.push_back({mapped, std::move(*progress), source.tables[i].published_by});
  }
  branch.listed = state.refetch.size();

  engine::start_point start;
  start.from = state.resume.value_or(checkpoint{source.start, source.start});
  start.is_first = !state.resume;
  if (engine::needs_start_view(state, tables))
    start.unproved = source.unproved;
  engine::engine_options options;
  options.batch_changes_max = config_->engine.batch_size;
  options.batch_bytes_max = config_->engine.batch_max_bytes;
  options.batches_outstanding_max = branch.sink->window();
  branch.core = std::make_shared<engine::engine>(options, std::move(tables), state, start);
  return {};
}

} // namespace cdc::supervision
