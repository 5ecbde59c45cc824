#include "sources/postgres/slots.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

namespace {

constexpr auto read_slots = R"(
  SELECT s.slot_name, s.plugin, s.database, s.active_pid,
         pg_catalog.concat_ws(' ', a.usename, a.application_name, 'from ' || a.client_addr::text),
         s.confirmed_flush_lsn, s.wal_status,
         pg_catalog.pg_wal_lsn_diff(CASE WHEN pg_catalog.pg_is_in_recovery()
                                         THEN pg_catalog.pg_last_wal_receive_lsn()
                                         ELSE pg_catalog.pg_current_wal_lsn() END,
                                    s.restart_lsn)::bigint,
         s.two_phase, s.safe_wal_size, s.temporary
  FROM pg_catalog.pg_replication_slots s
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid
  WHERE $1 = '' OR s.slot_name = $1
  ORDER BY s.slot_name)";

// A prepared transaction holds its lock without a process.
constexpr auto read_blockers = R"(
  SELECT h.pid, p.gid, w.transactionid,
         pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()
                                       - coalesce(a.xact_start, p.prepared))::bigint,
         pg_catalog.concat_ws(', ', pg_catalog.concat_ws(' ', coalesce(a.usename, p.owner),
                                                         nullif(a.application_name, '')),
                              a.state, 'waiting for ' || a.wait_event)
  FROM pg_catalog.pg_locks w
  JOIN pg_catalog.pg_locks h
    ON h.locktype = 'transactionid' AND h.transactionid = w.transactionid AND h.granted
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = h.pid
  LEFT JOIN pg_catalog.pg_prepared_xacts p ON h.pid IS NULL AND p.transaction = w.transactionid
  WHERE w.pid = $1::int AND w.locktype = 'transactionid' AND NOT w.granted)";

// How many seconds long a wait is told every second; later, every ten.
constexpr int often_at_first = 5;

log_pressure::state status_of(std::string_view text) noexcept {
  if (text == "reserved")
    return log_pressure::state::reserved;
  if (text == "extended")
    return log_pressure::state::extended;
  if (text == "unreserved")
    return log_pressure::state::unreserved;
  return text == "lost" ? log_pressure::state::lost : log_pressure::state::unknown;
}

slot_state read_slot(const rows& from, int row) {
  slot_state out;
  out.name = from.text(row, 0);
  out.plugin = from.text(row, 1);
  out.database = from.text(row, 2);
  if (!from.is_null(row, 3))
    out.active_pid = from.number<int>(row, 3);
  out.active_by = from.text(row, 4);
  out.confirmed = parse_lsn(from.text(row, 5)).value_or(position{});
  out.pressure.status = status_of(from.text(row, 6));
  out.pressure.retained_bytes = from.number<std::uint64_t>(row, 7);
  out.two_phase = from.flag(row, 8);
  if (!from.is_null(row, 9))
    out.pressure.safe_bytes = std::max<std::int64_t>(from.number<std::int64_t>(row, 9), 0);
  out.is_temporary = from.flag(row, 10);
  return out;
}

result<std::vector<slot_state>> read_where(connection& on, const std::string& name) {
  const auto found = on.query(read_slots, std::array{name}, "read the replication slots");
  if (!found)
    return tl::unexpected(found.error());
  std::vector<slot_state> out;
  for (int row = 0; row < found->size(); ++row)
    out.push_back(read_slot(*found, row));
  return out;
}

/// What holds up a slot's creation. Failing to find out is no reason to give up the slot.
std::vector<blocker> blockers_of(connection& on, int pid) {
  std::vector<blocker> out;
  const auto found =
      on.query(read_blockers, std::array{std::to_string(pid)}, "read who holds up the slot");
  for (int row = 0; found && row < found->size(); ++row) {
    auto& next = out.emplace_back();
    if (!found->is_null(row, 0))
      next.pid = found->number<int>(row, 0);
    next.prepared = found->text(row, 1);
    next.xid = found->number<std::uint32_t>(row, 2);
    next.open_for = std::chrono::seconds{found->number<std::int64_t>(row, 3)};
    next.who = found->text(row, 4);
  }
  return out;
}

std::string to_string(const blocker& one) {
  const auto open = fmt::format("xid {}, open for {} s{}{}", one.xid, one.open_for.count(),
                                one.who.empty() ? "" : ", ", one.who);
  if (one.pid)
    return fmt::format("pid {} ({}; to end it: SELECT pg_terminate_backend({}))", *one.pid, open,
                       *one.pid);
  return fmt::format("prepared transaction {} ({}; COMMIT or ROLLBACK PREPARED ends it)",
                     quote_literal(one.prepared), open);
}

result<snapshot> read_snapshot(const rows& from, std::string_view server) {
  auto out = parse_snapshot(from.text(0, 0));
  if (!out)
    return fail(errc::malformed_message, "{}: {}", server, out.error().detail);
  return out;
}

/// What the exported snapshot sees. The exporting connection must stay idle meanwhile.
result<snapshot> import(connection& on, const std::string& exported) {
  const auto all = on.run_all("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
                              "SET TRANSACTION SNAPSHOT " +
                                  quote_literal(exported) +
                                  ";"
                                  "SELECT pg_catalog.pg_current_snapshot();"
                                  "COMMIT",
                              "import the slot's snapshot");
  if (!all)
    return tl::unexpected(all.error());
  return read_snapshot((*all)[2], on.describe());
}

} // namespace

result<std::vector<slot_state>> slots(connection& on) {
  return read_where(on, {});
}

result<std::optional<slot_state>> find_slot(connection& on, const std::string& name) {
  auto found = read_where(on, name);
  if (!found)
    return tl::unexpected(found.error());
  return found->empty() ? std::nullopt : std::optional{std::move(found->front())};
}

result<void> check_slot(const slot_state& slot, const std::string& database) {
  if (slot.plugin.empty())
    return fail(errc::foreign_stream, "slot {} is a physical one; choose another source.slot_name",
                slot.name);
  if (slot.plugin != "pgoutput")
    return fail(errc::foreign_stream,
                "slot {} belongs to the plugin {}, not pgoutput; choose another source.slot_name",
                slot.name, slot.plugin);
  if (slot.database != database)
    return fail(errc::foreign_stream,
                "slot {} belongs to the database {}, not {}; choose another source.slot_name",
                slot.name, slot.database, database);
  if (slot.two_phase)
    return fail(errc::foreign_stream,
                "slot {} has two_phase on, for good: choose another source.slot_name", slot.name);
  if (slot.pressure.status == log_pressure::state::lost)
    return fail(errc::position_lost,
                "slot {} is lost: the server removed log that it still needed "
                "(max_slot_wal_keep_size); run --fresh-slot-and-load drops it and loads anew",
                slot.name);
  if (slot.active_pid)
    return fail(errc::slot_in_use,
                "slot {} is being read by pid {}{}{}; stop that reader, or choose another "
                "source.slot_name",
                slot.name, *slot.active_pid, slot.active_by.empty() ? "" : ", ", slot.active_by);
  return {};
}

std::string to_string(const slot_wait& wait) {
  auto out = fmt::format("the slot's creation has been waiting for {} s", wait.waited.count());
  for (std::size_t i = 0; i < wait.behind.size(); ++i)
    out += (i == 0 ? " for " : " and ") + to_string(wait.behind[i]);
  return out;
}

result<new_slot> create_slot(const conninfo& replication, connection& on, const std::string& name,
                             const std::function<void(const slot_wait&)>& waiting,
                             std::shared_ptr<const stop_signal> stop) {
  auto walsender = connection::open(replication, std::move(stop));
  if (!walsender)
    return tl::unexpected(walsender.error());
  const auto began = std::chrono::steady_clock::now();
  int seconds = 0;
  const auto report = [&] {
    ++seconds;
    if (waiting && (seconds <= often_at_first || seconds % 10 == 0))
      waiting({std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() -
                                                                began),
               blockers_of(on, walsender->backend_pid())});
  };
  // The form without parentheses is understood by every version.
  const auto created = walsender->run("CREATE_REPLICATION_SLOT " + quote_identifier(name) +
                                          " LOGICAL pgoutput EXPORT_SNAPSHOT",
                                      "create slot " + name, std::chrono::seconds{1}, report);
  if (!created)
    return tl::unexpected(created.error());
  const auto start = parse_lsn(created->text(0, 1));
  if (!start)
    return tl::unexpected(start.error());
  const auto exported = import(on, std::string{created->text(0, 2)});
  if (!exported)
    return tl::unexpected(exported.error());
  // Read after the export: what has become visible meanwhile is seen by every later snapshot too.
  const auto now = on.run("SELECT pg_catalog.pg_current_snapshot()", "read a snapshot");
  if (!now)
    return tl::unexpected(now.error());
  const auto ordinary = read_snapshot(*now, on.describe());
  if (!ordinary)
    return tl::unexpected(ordinary.error());
  return new_slot{*start, hidden_commits(*exported, *ordinary)};
}

result<void> drop_slot(connection& on, const std::string& name) {
  const auto dropped = on.query("SELECT pg_catalog.pg_drop_replication_slot(slot_name)"
                                " FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
                                std::array{name}, "drop slot " + name);
  if (!dropped)
    return tl::unexpected(dropped.error());
  return {};
}

// A commit that hangs when the creation begins is waited for: it still runs, as the walsender sees
// it. One that begins while the creation waits for others, and hangs when they have ended, is
// before the slot's start. Measured: 14.22 and 16.14 export a snapshot that sees it while no other
// session does; 15.20 waits for it with the export. The export itself never leaves one out.
std::vector<transaction_id> hidden_commits(const snapshot& exported, const snapshot& ordinary) {
  std::vector<transaction_id> out;
  const auto is_listed = [&](std::uint64_t xid) {
    return std::ranges::binary_search(exported.in_progress, xid);
  };
  for (const auto xid : ordinary.in_progress) {
    if (xid < exported.xmax && !is_listed(xid))
      out.push_back(static_cast<std::uint32_t>(xid));
  }
  for (auto xid = ordinary.xmax; xid < exported.xmax; ++xid) {
    if (!is_listed(xid))
      out.push_back(static_cast<std::uint32_t>(xid));
  }
  return out;
}

result<snapshot> look_past_own_transaction(connection& on) {
  const auto all = on.run_all("BEGIN READ WRITE; SELECT pg_catalog.pg_current_xact_id(); COMMIT;"
                              "SELECT pg_catalog.pg_current_snapshot()",
                              "read a snapshot");
  if (!all)
    return tl::unexpected(all.error());
  return read_snapshot(all->back(), on.describe());
}

} // namespace cdc::sources::postgres
