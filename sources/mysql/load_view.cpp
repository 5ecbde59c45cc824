#include "sources/mysql/load_view.hpp"

#include <utility>

#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/gtid_set.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr auto doing = "take a snapshot";

result<void> begin_transaction(connection& on) {
  return on.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", doing);
}

result<position> read_log_end(connection& on, const coordinates& at) {
  const auto found = on.query(binlog_status_statement(on.version()), "read the binlog's end");
  if (!found)
    return tl::unexpected(found.error());
  if (found->empty())
    return fail(errc::source_misconfigured, "{}: the binlog is off: set log_bin and restart it",
                on.describe());
  return at.token(found->text(0, 0), found->number<std::uint64_t>(0, 1));
}

result<std::string> read_variable(connection& on, std::string_view name) {
  const auto found = on.query(fmt::format("SELECT @@GLOBAL.{}", name), doing);
  if (!found)
    return tl::unexpected(found.error());
  return std::string{found->text(0, 0)};
}

// -- MariaDB --------------------------------------------------------------------------------------

// The server takes the snapshot and this position under one lock.
result<view> begin_at_position(connection& on, const coordinates& at) {
  if (auto begun = begin_transaction(on); !begun)
    return tl::unexpected(begun.error());
  const auto found = on.query("SHOW STATUS WHERE Variable_name IN"
                              " ('Binlog_snapshot_file', 'Binlog_snapshot_position')",
                              doing);
  if (!found)
    return tl::unexpected(found.error());
  std::string_view file;
  std::uint64_t offset = 0;
  for (std::size_t row = 0; row < found->size(); ++row)
    if (found->text(row, 0).ends_with("file"))
      file = found->text(row, 1);
    else
      offset = found->number<std::uint64_t>(row, 1);
  if (file.empty())
    return fail(errc::source_misconfigured, "{}: the binlog is off: set log_bin and restart it",
                on.describe());
  const auto end = at.token(file, offset);
  if (!end)
    return tl::unexpected(end.error());
  return view{.seen = {.runs = {{0, end->token}}}, .log_end = *end};
}

// -- MySQL ----------------------------------------------------------------------------------------

// A transaction is in gtid_executed only after its engine has committed it, so that a snapshot taken
// later sees all of the set.
result<view> begin_behind_gtids(connection& on, const coordinates& at, std::string& executed) {
  auto before = read_variable(on, "gtid_executed");
  if (!before)
    return tl::unexpected(before.error());
  executed = *std::move(before);
  if (auto begun = begin_transaction(on); !begun)
    return tl::unexpected(begun.error());
  const auto end = read_log_end(on, at);
  if (!end)
    return tl::unexpected(end.error());
  const auto set = gtid_set::parse(executed);
  if (!set)
    return tl::unexpected(set.error());
  return view{.seen = set->as_snapshot(), .log_end = *end};
}

} // namespace

result<table_lock> table_lock::take(connection on, const table_id& table,
                                    std::chrono::seconds patience) {
  const auto what = "lock " + to_string(table);
  if (auto set = on.run(fmt::format("SET SESSION lock_wait_timeout = {}", patience.count()), what);
      !set)
    return tl::unexpected(set.error());
  if (auto locked = on.run("LOCK TABLES " + quote_table(table) + " READ", what); !locked)
    return tl::unexpected(locked.error());
  return table_lock{std::move(on)};
}

result<view> begin_view(connection& on, const coordinates& at) {
  if (on.version().is_mariadb)
    return begin_at_position(on, at);
  std::string executed;
  return begin_behind_gtids(on, at, executed);
}

result<void> end_view(connection& on) {
  return on.run("ROLLBACK", "end a snapshot");
}

// What the snapshot sees beyond the set was committed by its engine and not yet added to the set:
// then its GTID is still owned by its session, or was added meanwhile.
result<std::optional<view>> begin_exact_view(connection& on, const coordinates& at) {
  if (on.version().is_mariadb) {
    auto out = begin_at_position(on, at);
    if (!out)
      return tl::unexpected(out.error());
    return *std::move(out);
  }
  std::string before;
  auto out = begin_behind_gtids(on, at, before);
  if (!out)
    return tl::unexpected(out.error());
  const auto owned = read_variable(on, "gtid_owned");
  if (!owned)
    return tl::unexpected(owned.error());
  const auto after = read_variable(on, "gtid_executed");
  if (!after)
    return tl::unexpected(after.error());
  if (owned->empty() && *after == before)
    return *std::move(out);
  if (auto ended = end_view(on); !ended)
    return tl::unexpected(ended.error());
  return std::nullopt;
}

} // namespace cdc::sources::mysql
