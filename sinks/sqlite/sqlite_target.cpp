#include "sinks/sqlite/sqlite_target.hpp"

#include <algorithm>
#include <utility>

#include "sinks/sqlite/statement.hpp"

namespace cdc::sinks::sqlite {

namespace {

std::string folded(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

} // namespace

sqlite_target::sqlite_target(sqlite_options options) : options_(std::move(options)) {}

result<sink_state> sqlite_target::open(const stream_identity& stream) {
  auto file = real_path(options_.path);
  if (!file)
    return tl::unexpected(std::move(file).error());
  auto lock = file_lock::take(*file);
  if (!lock)
    return tl::unexpected(std::move(lock).error());
  lock_ = std::move(*lock);
  if (auto opened = db_.open(*file, options_.database); !opened)
    return tl::unexpected(std::move(opened).error());

  // The epoch survives a power loss, and with it the checkpoint that this start resumes from.
  sink_state out;
  const auto done = db_.execute("BEGIN IMMEDIATE")
                        .and_then([&] { return state_.open(stream); })
                        .map([&](sink_state state) { out = std::move(state); })
                        .and_then([&] { return db_.execute("COMMIT"); })
                        .and_then([&] { return db_.sync(); });
  if (!done) {
    roll_back();
    return tl::unexpected(done.error());
  }
  listed_.restore(out.refetch);
  return out;
}

// -- tables
// -----------------------------------------------------------------------------------------

result<std::vector<std::string>>
sqlite_target::prepare(const std::vector<target_table_ptr>& tables) {
  std::vector<std::string> notices;
  // A shape can change in the middle of a transaction; the change then belongs to it.
  const bool is_inside = db_.inside_transaction();
  auto done = is_inside ? result<void>() : db_.execute("BEGIN IMMEDIATE");
  for (const auto& table : tables)
    if (done)
      done = prepare_table(table, notices);
  if (done && !is_inside)
    done = db_.execute("COMMIT");
  if (!done) {
    roll_back();
    return tl::unexpected(std::move(done).error());
  }
  return notices;
}

result<void> sqlite_target::prepare_table(const target_table_ptr& table,
                                          std::vector<std::string>& notices) {
  if (auto named = check_name(*table); !named)
    return named;
  names_.emplace(folded(table->name), table->name);
  std::erase_if(writers_, [&](auto& it) { return it.second->table()->name == table->name; });
  const auto have = read_shape(db_, table->name);
  if (!have)
    return tl::unexpected(have.error());
  const auto shaped =
      *have ? close_gap(*table, **have, notices) : db_.execute(create_sql(*table, options_.schema));
  if (shaped && *have && !state_.knows(table->name) && !table->key.empty())
    if (auto looked = note_rows(*table, notices); !looked)
      return looked;
  return shaped.and_then([&] { return state_.remember(table->name); });
}

/// What the source does not have is never mentioned by it, and so stays.
result<void> sqlite_target::note_rows(const target_table& table,
                                      std::vector<std::string>& notices) {
  auto query = statement::prepare(db_, "SELECT 1 FROM " + sql_name(table.name) + " LIMIT 1");
  if (!query)
    return tl::unexpected(std::move(query).error());
  const auto any = query->step(db_, "look for rows");
  if (!any)
    return tl::unexpected(any.error());
  if (*any)
    notices.push_back(
        fmt::format("{}: table {} has rows already; those whose keys {} does not have stay there",
                    options_.path, sql_name(table.name), to_string(table.source->table)));
  return {};
}

result<void> sqlite_target::check_name(const target_table& table) const {
  const auto name = folded(table.name);
  if (name.starts_with("sqlite_") || name.starts_with("_cdc_"))
    return fail(
        errc::target_misconfigured,
        "table {}: names that begin with sqlite_ or _cdc_ are taken; name another with `into`",
        sql_name(table.name));
  const auto other = names_.find(name);
  if (other != names_.end() && other->second != table.name)
    return fail(errc::target_misconfigured,
                "tables {} and {} are one to SQLite, which does not tell upper case from lower in "
                "names; name another with `into`",
                sql_name(other->second), sql_name(table.name));
  if (auto obstacle = name_obstacle(table); !obstacle.empty())
    return tl::unexpected(error{errc::target_misconfigured, std::move(obstacle)});
  return {};
}

/// A table that held this stream's rows before has drifted, and the stream goes on where it can.
/// One that never did is refused, before anything is written.
result<void> sqlite_target::close_gap(const target_table& table, const existing_table& have,
                                      std::vector<std::string>& notices) {
  const auto gap = compare(have, table, options_.schema);
  if (gap.none())
    return {};
  const bool is_known = state_.knows(table.name);
  if (!is_known || !is_closable(gap, table, options_.schema))
    return fail(errc::target_misconfigured, "{}: {}", options_.path,
                describe(gap, have, table, options_.schema, is_known));
  if (options_.schema.add_columns)
    return alter(table, gap, notices);
  for (const auto at : gap.missing)
    notices.push_back(
        fmt::format("{}: table {} has no column {}, so its values are left out; to have "
                    "them: {} (or schema_changes = \"add\"), and restart",
                    options_.path, sql_name(table.name), sql_name(table.columns[at].name),
                    add_column_sql(table, at, options_.schema)));
  return {};
}

result<void> sqlite_target::alter(const target_table& table, const shape_gap& gap,
                                  std::vector<std::string>& notices) {
  for (const auto at : gap.missing) {
    if (auto added = db_.execute(add_column_sql(table, at, options_.schema)); !added)
      return added;
    notices.push_back(fmt::format("{}: table {} has the new column {}", options_.path,
                                  sql_name(table.name), sql_name(table.columns[at].name)));
  }
  for (const auto at : gap.narrow) {
    if (auto widened = db_.execute(widen_column_sql(table, at)); !widened)
      return widened;
    notices.push_back(fmt::format("{}: table {}: column {} now takes any type", options_.path,
                                  sql_name(table.name), sql_name(table.columns[at].name)));
  }
  return {};
}

result<table_writer*> sqlite_target::writer_for(const target_table_ptr& table) {
  if (const auto found = writers_.find(table.get()); found != writers_.end())
    return found->second.get();
  const auto have = read_shape(db_, table->name);
  if (!have)
    return tl::unexpected(have.error());
  if (!*have)
    return fail(errc::target_misconfigured, "{}: table {} is not there any more", options_.path,
                sql_name(table->name));
  auto made = table_writer::make(db_, table, **have, options_.schema, listed_.of(table->name));
  if (!made)
    return tl::unexpected(std::move(made).error());
  return writers_.emplace(table.get(), std::move(*made)).first->second.get();
}

result<std::vector<table_writer*>> sqlite_target::writers_for(const batch& work) {
  std::vector<table_writer*> out;
  for (const auto& table : work.tables) {
    const auto writer = writer_for(table);
    if (!writer)
      return tl::unexpected(writer.error());
    out.push_back(*writer);
  }
  return out;
}

// -- batches
// ----------------------------------------------------------------------------------------

result<write_report> sqlite_target::write(const batch& work) {
  if (db_.is_interrupted())
    return fail(errc::cancelled, "the target was told to stop");
  auto report = begin().and_then([&] { return write_inside(work); });
  if (!report)
    roll_back();
  return report;
}

result<void> sqlite_target::begin() {
  if (db_.inside_transaction())
    return {};
  return db_.execute("BEGIN IMMEDIATE").and_then([&] { return state_.check(); });
}

result<write_report> sqlite_target::write_inside(const batch& work) {
  const auto writers = writers_for(work);
  if (!writers)
    return tl::unexpected(writers.error());
  write_report report;
  report.batch = work.number;
  const auto done = batch_writer(db_, listed_, *writers, work, report)
                        .write()
                        .and_then([&] { return write_state(work); })
                        .and_then([&] { return finish(work, report); });
  if (!done)
    return tl::unexpected(done.error());
  return report;
}

result<void> sqlite_target::write_state(const batch& work) {
  for (const auto& it : work.records)
    if (auto done = state_.put(it); !done)
      return done;
  for (const auto& it : work.listed)
    if (auto done = listed_.add(it.table, it.key); !done)
      return done;
  return work.reaches ? state_.move_to(*work.reaches) : result<void>();
}

result<void> sqlite_target::finish(const batch& work, write_report& report) {
  if (!work.ends_transaction)
    return {};
  if (auto committed = db_.execute("COMMIT"); !committed)
    return committed;
  state_.committed();
  if (!work.is_durable)
    return {};
  // Readers see the rows already; only who waits for durability waits for the disk.
  if (auto synced = db_.sync(); !synced)
    return synced;
  if (state_.resume())
    report.durable = state_.resume()->resume;
  return {};
}

void sqlite_target::roll_back() noexcept {
  // SQLite has often done it itself; then this does nothing.
  if (db_.inside_transaction())
    sqlite3_exec(db_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

} // namespace cdc::sinks::sqlite
