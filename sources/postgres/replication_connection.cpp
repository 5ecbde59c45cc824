#include "sources/postgres/replication_connection.hpp"

#include <string_view>
#include <utility>

#include <libpq-fe.h>

#include "sources/postgres/connection.hpp"
#include "sources/postgres/errors.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

replication_connection::replication_connection(stream_request request)
    : request_(std::move(request)), on_(request_.to, "read the replication stream") {
  // nop
}

// -- connecting -----------------------------------------------------------------------------------

result<replication_connection::state> replication_connection::connect(clock::time_point now) {
  if (phase_ == phase::identified) {
    if (auto sent = command(start_command(), phase::starting); !sent)
      return tl::unexpected(sent.error());
  }
  for (auto before = phase_;; before = phase_) {
    if (auto went = go_on(now); !went)
      return tl::unexpected(went.error());
    if (phase_ == phase::identified)
      return state::identified;
    if (phase_ == phase::streaming)
      return state::streaming;
    if (phase_ == before)
      break;
  }
  return on_.expired(now).map([] { return state::waiting; });
}

result<void> replication_connection::go_on(clock::time_point now) {
  if (phase_ == phase::identifying)
    return await_identity();
  if (phase_ == phase::starting)
    return await_start();
  if (phase_ != phase::connecting)
    return {};
  const auto stands = on_.connect(now);
  if (!stands)
    return tl::unexpected(stands.error());
  return *stands ? command("IDENTIFY_SYSTEM", phase::identifying) : result<void>{};
}

result<void> replication_connection::command(const std::string& text, phase next) {
  phase_ = next;
  return on_.command(text);
}

result<void> replication_connection::await_identity() {
  for (;;) {
    const auto ready = on_.answer_ready();
    if (!ready || !*ready)
      return ready.map([](bool) {});
    const auto answer = on_.next_answer();
    if (!answer) {
      phase_ = phase::identified;
      return {};
    }
    if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK)
      return tl::unexpected(statement_error(answer.get(), describe(), "identify the server"));
    if (auto same = check_identity(answer.get()); !same)
      return same;
  }
}

// A walsender sends only what has been flushed, so a log that ends before the place we resume from
// is not the log we have read.
result<void> replication_connection::check_identity(const pg_result* answer) {
  const std::string_view server = PQgetvalue(answer, 0, 0);
  if (!request_.system_identifier.empty() && server != request_.system_identifier)
    return fail(errc::foreign_stream,
                "{} is the server with system identifier {}, but the targets hold the rows of {}",
                describe(), server, request_.system_identifier);
  const auto log_end = parse_lsn(PQgetvalue(answer, 0, 2));
  if (!log_end)
    return tl::unexpected(log_end.error());
  log_end_ = *log_end;
  if (*log_end < request_.resume)
    return fail(
        errc::foreign_stream,
        "the log of {} ends at {} (timeline {}), before {}, which was read from it already: "
        "the server was restored or failed over to an older copy of itself",
        describe(), to_lsn(*log_end), PQgetvalue(answer, 0, 1), to_lsn(request_.resume));
  return {};
}

std::string replication_connection::start_command() const {
  return fmt::format("START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', "
                     "publication_names {}, messages 'true')",
                     quote_identifier(request_.slot), to_lsn(request_.resume),
                     publication_option(request_.publications));
}

result<void> replication_connection::await_start() {
  const auto ready = on_.answer_ready();
  if (!ready || !*ready)
    return ready.map([](bool) {});
  const auto answer = on_.next_answer();
  if (!answer)
    return tl::unexpected(on_.broke());
  if (PQresultStatus(answer.get()) != PGRES_COPY_BOTH)
    return tl::unexpected(start_error(answer.get()));
  phase_ = phase::streaming;
  on_.wants_nothing();
  return {};
}

error replication_connection::start_error(const pg_result* answer) const {
  auto out =
      statement_error(answer, describe(), fmt::format("stream from the slot {}", request_.slot));
  const auto sqlstate = sqlstate_of(answer);
  if (sqlstate == "42704") {
    out.code = errc::position_lost;
    out.detail += "; the slot was dropped, and with it the log that was not read yet: "
                  "run --fresh-slot-and-load";
  } else if (sqlstate == "55000") {
    out.code = errc::position_lost;
    out.detail += "; the server has removed log that was not read yet "
                  "(max_slot_wal_keep_size): run --fresh-slot-and-load";
  } else if (sqlstate == "55006") {
    out.detail += "; another reader must let go of it first, or use a slot of its own";
  }
  return out;
}

// -- streaming ------------------------------------------------------------------------------------

result<std::optional<std::span<const std::byte>>> replication_connection::next_message() {
  const auto next = on_.next_copied();
  if (!next)
    return tl::unexpected(next.error());
  if (next->is_over) [[unlikely]]
    return tl::unexpected(ended());
  return next->message;
}

/// Why the server ended the stream.
error replication_connection::ended() {
  const auto answer = on_.next_answer();
  if (answer && PQresultStatus(answer.get()) == PGRES_FATAL_ERROR)
    return on_.refused(answer.get());
  return {errc::source_unavailable,
          fmt::format("{}: the server ended the replication stream", describe())};
}

void replication_connection::close() noexcept {
  if (phase_ == phase::streaming)
    on_.end_copy();
  on_.close();
  phase_ = phase::connecting;
}

std::string publication_option(const std::vector<std::string>& publications) {
  std::string names;
  for (const auto& publication : publications)
    names += (names.empty() ? "" : ",") + quote_identifier(publication);
  return quote_literal(names);
}

} // namespace cdc::sources::postgres
