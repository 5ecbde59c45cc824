#include "sinks/sqlite/state_tables.hpp"

#include <chrono>

namespace cdc::sinks::sqlite {

namespace {

constexpr const char* create_statements = R"(
CREATE TABLE IF NOT EXISTS _cdc_checkpoint (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  source TEXT NOT NULL, server TEXT NOT NULL, stream TEXT NOT NULL,
  database TEXT NOT NULL, publication TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  resume INTEGER, version INTEGER,
  written_at INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS _cdc_progress (
  name TEXT PRIMARY KEY, value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS _cdc_refetch (
  target TEXT, key BLOB, PRIMARY KEY (target, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS _cdc_tables (
  name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
)";

constexpr std::string_view writing = "writing its checkpoint";
constexpr std::string_view reading = "reading its checkpoint";

std::int64_t now_in_microseconds() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t stored(position at) noexcept {
  return static_cast<std::int64_t>(at.token);
}

position position_of(const statement& row, int column) noexcept {
  return {static_cast<std::uint64_t>(row.integer(column))};
}

void bind_resume(statement& to, int at, const std::optional<checkpoint>& resume) noexcept {
  if (resume)
    to.bind(at, stored(resume->resume));
  else
    to.bind_null(at);
}

std::string describe(const stream_identity& stream) {
  return fmt::format("{} server {}, database {}, stream {}, publication {}", stream.source,
                     stream.server, stream.database, stream.stream, stream.publication);
}

error fenced(database& db) {
  const char* file = sqlite3_db_filename(db.handle(), "main");
  return {errc::fenced,
          fmt::format("{}: its checkpoint was moved by another process", file ? file : "")};
}

} // namespace

result<std::optional<stored_checkpoint>> read_checkpoint_row(database& db) {
  auto query =
      statement::prepare(db, "SELECT source, server, stream, database, publication, epoch, "
                             "resume, version, written_at FROM _cdc_checkpoint");
  if (!query)
    return tl::unexpected(std::move(query).error());
  const auto found = query->step(db, reading);
  if (!found)
    return tl::unexpected(found.error());
  if (!*found)
    return std::nullopt;
  stored_checkpoint out;
  out.stream = {query->text(0), query->text(1), query->text(2), query->text(3), query->text(4)};
  out.epoch = static_cast<std::uint64_t>(query->integer(5));
  if (!query->is_null(6))
    out.resume = checkpoint{position_of(*query, 6), position_of(*query, 7)};
  out.written_at = query->integer(8);
  return out;
}

result<std::vector<std::pair<std::string, std::string>>> read_records(database& db) {
  auto query = statement::prepare(db, "SELECT name, value FROM _cdc_progress");
  if (!query)
    return tl::unexpected(std::move(query).error());
  std::vector<std::pair<std::string, std::string>> out;
  return query->for_each_row(db, reading, [&] { out.emplace_back(query->text(0), query->text(1)); })
      .map([&] { return std::move(out); });
}

result<std::vector<listed_key>> read_listed(database& db) {
  auto query = statement::prepare(db, "SELECT target, key FROM _cdc_refetch");
  if (!query)
    return tl::unexpected(std::move(query).error());
  std::vector<listed_key> out;
  return query->for_each_row(db, reading,
                             [&] {
                               out.push_back({query->text(0), query->text(1)});
                             })
      .map([&] { return std::move(out); });
}

result<sink_state> state_tables::open(const stream_identity& stream) {
  sink_state out;
  const auto done = create()
                        .and_then([&] { return claim(stream); })
                        .and_then([&] { return read(out); })
                        .and_then([&] { return prepare(); });
  if (!done)
    return tl::unexpected(done.error());
  return out;
}

result<void> state_tables::create() {
  return db_.execute(create_statements);
}

result<void> state_tables::claim(const stream_identity& stream) {
  const auto found = read_checkpoint_row(db_);
  if (!found)
    return tl::unexpected(found.error());
  if (*found && (*found)->stream != stream)
    return fail(
        errc::foreign_stream,
        "{} belongs to another stream ({}), not to this one ({}): name another file, or drop "
        "its table _cdc_checkpoint if its rows may be overwritten",
        sqlite3_db_filename(db_.handle(), "main"), describe((*found)->stream), describe(stream));
  if (*found) {
    epoch_ = static_cast<std::int64_t>((*found)->epoch);
    now_ = (*found)->resume;
  }
  ++epoch_;
  before_ = now_;
  auto write = statement::prepare(
      db_, "INSERT INTO _cdc_checkpoint VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, NULL, NULL, ?7) "
           "ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, "
           "written_at = excluded.written_at");
  if (!write)
    return tl::unexpected(std::move(write).error());
  int at = 0;
  for (const auto* text :
       {&stream.source, &stream.server, &stream.stream, &stream.database, &stream.publication})
    write->bind(++at, std::string_view(*text));
  write->bind(6, epoch_);
  write->bind(7, now_in_microseconds());
  return write->run(db_, writing);
}

result<void> state_tables::read(sink_state& out) {
  auto records = read_records(db_);
  if (!records)
    return tl::unexpected(std::move(records).error());
  auto listed = read_listed(db_);
  if (!listed)
    return tl::unexpected(std::move(listed).error());
  out.epoch = static_cast<std::uint64_t>(epoch_);
  out.resume = now_;
  out.records = std::move(*records);
  out.refetch = std::move(*listed);

  auto query = statement::prepare(db_, "SELECT name FROM _cdc_tables");
  if (!query)
    return tl::unexpected(std::move(query).error());
  return query->for_each_row(db_, reading, [&] { tables_.insert(query->text(0)); });
}

result<void> state_tables::prepare() {
  const std::pair<statement*, const char*> all[] = {
      {&check_, "SELECT 1 FROM _cdc_checkpoint WHERE one = 1 AND epoch = ?1 AND resume IS ?2"},
      {&move_, "UPDATE _cdc_checkpoint SET resume = ?3, version = ?4, written_at = ?5 "
               "WHERE one = 1 AND epoch = ?1 AND resume IS ?2"},
      {&put_, "INSERT INTO _cdc_progress VALUES (?1, ?2) "
              "ON CONFLICT (name) DO UPDATE SET value = excluded.value"},
      {&drop_, "DELETE FROM _cdc_progress WHERE name = ?1"},
      {&list_, "INSERT INTO _cdc_refetch VALUES (?1, ?2) ON CONFLICT DO NOTHING"},
      {&unlist_, "DELETE FROM _cdc_refetch WHERE target = ?1 AND key = ?2"},
      {&clear_, "DELETE FROM _cdc_refetch WHERE target = ?1"},
      {&remember_, "INSERT INTO _cdc_tables VALUES (?1) ON CONFLICT DO NOTHING"},
  };
  for (const auto& [into, sql] : all) {
    auto made = statement::prepare(db_, sql);
    if (!made)
      return tl::unexpected(std::move(made).error());
    *into = std::move(*made);
  }
  return {};
}

result<void> state_tables::check() {
  check_.bind(1, epoch_);
  bind_resume(check_, 2, before_);
  const auto found = check_.step(db_, reading);
  check_.reset();
  if (!found)
    return tl::unexpected(found.error());
  if (!*found)
    return tl::unexpected(fenced(db_));
  return {};
}

result<void> state_tables::move_to(const checkpoint& next) {
  move_.bind(1, epoch_);
  bind_resume(move_, 2, now_);
  move_.bind(3, stored(next.resume));
  move_.bind(4, stored(next.version));
  move_.bind(5, now_in_microseconds());
  if (auto ran = move_.run(db_, writing); !ran)
    return ran;
  if (sqlite3_changes64(db_.handle()) != 1)
    return tl::unexpected(fenced(db_));
  now_ = next;
  return {};
}

result<void> state_tables::put(const record& it) {
  auto& how = it.value ? put_ : drop_;
  how.bind(1, std::string_view(it.name));
  if (it.value)
    how.bind(2, std::string_view(*it.value));
  return how.run(db_, writing);
}

result<void> state_tables::add_listed(std::string_view table, std::string_view key) {
  list_.bind(1, table);
  list_.bind_blob(2, key);
  return list_.run(db_, writing);
}

result<void> state_tables::remove_listed(std::string_view table, std::string_view key) {
  unlist_.bind(1, table);
  unlist_.bind_blob(2, key);
  return unlist_.run(db_, writing);
}

result<void> state_tables::clear_listed(std::string_view table) {
  clear_.bind(1, table);
  return clear_.run(db_, writing);
}

result<void> state_tables::remember(const std::string& table) {
  remember_.bind(1, std::string_view(table));
  if (auto ran = remember_.run(db_, writing); !ran)
    return ran;
  tables_.insert(table);
  return {};
}

} // namespace cdc::sinks::sqlite
