#include "sources/postgres/slot_look.hpp"

#include <charconv>
#include <string_view>

#include <libpq-fe.h>

#include "sources/postgres/connection.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

namespace {

constexpr auto look_command = R"(
  SELECT s.confirmed_flush_lsn, s.active_pid, s.wal_status,
         c.confirmed_flush_lsn, c.restart_lsn, c.active_pid,
         CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
              ELSE pg_catalog.pg_current_wal_flush_lsn() END,
         k.system_identifier
  FROM pg_catalog.pg_control_system() k
  LEFT JOIN pg_catalog.pg_replication_slots s ON s.slot_name = {}
  LEFT JOIN pg_catalog.pg_replication_slots c ON c.slot_name = {})";

std::string_view text(const pg_result* from, int column) noexcept {
  return {PQgetvalue(from, 0, column), static_cast<std::size_t>(PQgetlength(from, 0, column))};
}

int number(const pg_result* from, int column) noexcept {
  const auto written = text(from, column);
  int out = 0;
  std::from_chars(written.data(), written.data() + written.size(), out);
  return out;
}

position lsn(const pg_result* from, int column) {
  return parse_lsn(text(from, column)).value_or(position{});
}

} // namespace

slot_look::slot_look(const pg_result* from)
    : has_slot(PQgetisnull(from, 0, 0) == 0), confirmed(lsn(from, 0)), reader(number(from, 1)),
      status(text(from, 2)), has_copy(PQgetisnull(from, 0, 5) == 0),
      copy_reader(number(from, 5)), left{.passed = lsn(from, 3),
                                         .log_end = lsn(from, 6),
                                         .restart = lsn(from, 4)},
      system_identifier(text(from, 7)) {
  // nop
}

std::string slot_look::command(const std::string& slot, const std::string& copy) {
  return fmt::format(look_command, quote_literal(slot), quote_literal(copy));
}

} // namespace cdc::sources::postgres
