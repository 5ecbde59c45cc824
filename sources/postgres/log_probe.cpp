#include "sources/postgres/log_probe.hpp"

#include <utility>

#include <libpq-fe.h>

#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

namespace {

constexpr auto question = "SELECT CASE WHEN pg_catalog.pg_is_in_recovery()"
                          " THEN pg_catalog.pg_last_wal_replay_lsn()"
                          " ELSE pg_catalog.pg_current_wal_flush_lsn() END";

} // namespace

log_probe::log_probe(conninfo to) : on_(std::move(to), "ask for the log's end") {
  // nop
}

result<std::optional<position>> log_probe::advance(clock::time_point now) {
  if (auto late = on_.expired(now); on_.is_open() && !late)
    return tl::unexpected(late.error());
  const auto stands = on_.connect(now);
  if (!stands)
    return tl::unexpected(stands.error());
  if (!*stands)
    return std::nullopt;
  if (!std::exchange(asked_, true)) {
    if (auto sent = on_.command(question); !sent)
      return tl::unexpected(sent.error());
  }
  return take_answer();
}

result<std::optional<position>> log_probe::take_answer() {
  const auto ready = on_.answer_ready();
  if (!ready)
    return tl::unexpected(ready.error());
  if (!*ready)
    return std::nullopt;
  const auto answer = on_.next_answer();
  if (!answer)
    return tl::unexpected(on_.broke());
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK || PQntuples(answer.get()) != 1)
    return tl::unexpected(on_.refused(answer.get()));
  const auto end = parse_lsn(PQgetvalue(answer.get(), 0, 0));
  if (!end)
    return tl::unexpected(end.error());
  return *end;
}

} // namespace cdc::sources::postgres
