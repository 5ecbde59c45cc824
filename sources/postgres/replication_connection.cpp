#include "sources/postgres/replication_connection.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sources/postgres/connection.hpp"
#include "sources/postgres/errors.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

namespace {

struct clear {
  void operator()(PGresult* from) const noexcept { PQclear(from); }
};
using answer_ptr = std::unique_ptr<PGresult, clear>;

std::string_view sqlstate_of(const PGresult* from) noexcept {
  const auto* text = PQresultErrorField(from, PG_DIAG_SQLSTATE);
  return text ? text : std::string_view{};
}

constexpr std::string_view doing_stream = "read the replication stream";

} // namespace

void replication_connection::finish::operator()(pg_conn* from) const noexcept {
  PQfinish(from);
}

void replication_connection::free_memory::operator()(char* from) const noexcept {
  PQfreemem(from);
}

replication_connection::replication_connection(stream_request request)
    : request_(std::move(request)) {
  // nop
}

// -- connecting -----------------------------------------------------------------------------------

result<bool> replication_connection::connect(clock::time_point now) {
  if (phase_ == phase::unconnected) {
    connect_by_ = now + request_.to.connect_timeout();
    if (auto begun = begin(); !begun)
      return tl::unexpected(begun.error());
  }
  for (;;) {
    const auto before = phase_;
    auto done = phase_ == phase::connecting    ? poll_connect()
                : phase_ == phase::identifying ? await_identity()
                : phase_ == phase::starting    ? await_start()
                                               : result<bool>{true};
    if (!done || *done)
      return done;
    if (phase_ == before)
      break;
  }
  if (now >= connect_by_)
    return fail(errc::source_unavailable,
                "cannot connect to {}: no answer within {} s; check host, port and firewall",
                request_.to.describe(), request_.to.connect_timeout().count());
  return false;
}

result<void> replication_connection::begin() {
  const auto keywords = request_.to.keywords();
  const auto values = request_.to.values();
  from_.reset(PQconnectStartParams(keywords.data(), values.data(), 0));
  if (!from_ || PQstatus(from_.get()) == CONNECTION_BAD)
    return tl::unexpected(connect_error(from_.get(), request_.to.describe()));
  PQsetErrorVerbosity(from_.get(), PQERRORS_VERBOSE);
  phase_ = phase::connecting;
  wants_ = POLLOUT;
  return {};
}

// PQconnectPoll must not be called before the socket is ready for what it waits for.
result<bool> replication_connection::poll_connect() {
  pollfd on{.fd = socket(), .events = wants_, .revents = 0};
  if (::poll(&on, 1, 0) == 0)
    return false;
  switch (PQconnectPoll(from_.get())) {
    case PGRES_POLLING_READING:
      wants_ = POLLIN;
      return false;
    case PGRES_POLLING_WRITING:
      wants_ = POLLOUT;
      return false;
    case PGRES_POLLING_OK:
      break;
    default:
      return tl::unexpected(connect_error(from_.get(), request_.to.describe()));
  }
  PQsetErrorVerbosity(from_.get(), PQERRORS_DEFAULT);
  PQsetNoticeProcessor(
      from_.get(), [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(from_.get(), 1) != 0)
    return tl::unexpected(broke());
  return command("IDENTIFY_SYSTEM", phase::identifying).map([] { return false; });
}

result<void> replication_connection::command(const std::string& text, phase next) {
  if (PQsendQuery(from_.get(), text.c_str()) == 0)
    return tl::unexpected(broke());
  phase_ = next;
  return {};
}

/// True when PQgetResult() would not wait.
result<bool> replication_connection::answer_ready() {
  if (auto sent = flush(); !sent)
    return tl::unexpected(sent.error());
  if (PQconsumeInput(from_.get()) == 0)
    return tl::unexpected(broke());
  wants_ |= POLLIN;
  return PQisBusy(from_.get()) == 0;
}

result<bool> replication_connection::await_identity() {
  for (;;) {
    const auto ready = answer_ready();
    if (!ready || !*ready)
      return ready;
    const answer_ptr answer{PQgetResult(from_.get())};
    if (!answer)
      return command(start_command(), phase::starting).map([] { return false; });
    if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK)
      return tl::unexpected(
          statement_error(answer.get(), request_.to.describe(), "identify the server"));
    if (auto same = check_identity(answer.get()); !same)
      return tl::unexpected(same.error());
  }
}

// A walsender sends only what has been flushed, so a log that ends before the place we resume from
// is not the log we have read.
result<void> replication_connection::check_identity(pg_result* answer) const {
  const std::string_view server = PQgetvalue(answer, 0, 0);
  if (!request_.system_identifier.empty() && server != request_.system_identifier)
    return fail(errc::foreign_stream,
                "{} is the server with system identifier {}, but the targets hold the rows of {}",
                request_.to.describe(), server, request_.system_identifier);
  const auto log_end = parse_lsn(PQgetvalue(answer, 0, 2));
  if (!log_end)
    return tl::unexpected(log_end.error());
  if (*log_end < request_.resume)
    return fail(
        errc::foreign_stream,
        "the log of {} ends at {} (timeline {}), before {}, which was read from it already: "
        "the server was restored or failed over to an older copy of itself",
        request_.to.describe(), to_lsn(*log_end), PQgetvalue(answer, 0, 1),
        to_lsn(request_.resume));
  return {};
}

std::string replication_connection::start_command() const {
  std::string names;
  for (const auto& publication : request_.publications)
    names += (names.empty() ? "" : ",") + quote_identifier(publication);
  return fmt::format("START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', "
                     "publication_names {}, messages 'true')",
                     quote_identifier(request_.slot), to_lsn(request_.resume),
                     quote_literal(names));
}

result<bool> replication_connection::await_start() {
  const auto ready = answer_ready();
  if (!ready || !*ready)
    return ready;
  const answer_ptr answer{PQgetResult(from_.get())};
  if (!answer)
    return tl::unexpected(broke());
  if (PQresultStatus(answer.get()) != PGRES_COPY_BOTH)
    return tl::unexpected(start_error(answer.get()));
  phase_ = phase::streaming;
  wants_ = 0;
  connect_by_ = clock::time_point::max();
  return true;
}

error replication_connection::start_error(pg_result* answer) const {
  auto out = statement_error(answer, request_.to.describe(),
                             fmt::format("stream from the slot {}", request_.slot));
  const auto sqlstate = sqlstate_of(answer);
  if (sqlstate == "42704") {
    out.code = errc::position_lost;
    out.detail += "; the slot was dropped, and with it the log that was not read yet";
  } else if (sqlstate == "55000") {
    out.code = errc::position_lost;
    out.detail += "; the server has removed log that was not read yet (max_slot_wal_keep_size)";
  } else if (sqlstate == "55006") {
    out.detail += "; another reader must let go of it first, or use a slot of its own";
  }
  return out;
}

// -- streaming ------------------------------------------------------------------------------------

std::size_t replication_connection::input() const noexcept {
  int bytes = 0;
  return ::ioctl(socket(), FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

// Bytes that nobody reads may hide the end behind them from recv(), but not from poll().
result<void> replication_connection::check() const {
  pollfd on{.fd = socket(), .events = POLLRDHUP, .revents = 0};
  if (::poll(&on, 1, 0) <= 0 || on.revents == 0)
    return {};
  return fail(errc::source_unavailable, "{}: the server closed the replication connection",
              request_.to.describe());
}

result<void> replication_connection::read() {
  if (PQconsumeInput(from_.get()) == 0)
    return tl::unexpected(broke());
  return {};
}

bool replication_connection::has_decrypted() const noexcept {
  auto* tls = static_cast<SSL*>(PQsslStruct(from_.get(), "OpenSSL"));
  return tls && SSL_pending(tls) > 0;
}

bool replication_connection::is_encrypted() const noexcept {
  return PQsslInUse(from_.get()) != 0;
}

result<std::optional<std::span<const std::byte>>> replication_connection::next_message() {
  char* bytes = nullptr;
  const auto size = PQgetCopyData(from_.get(), &bytes, 1);
  message_.reset(bytes);
  if (size > 0) [[likely]]
    return std::as_bytes(std::span{bytes, static_cast<std::size_t>(size)});
  if (size == 0)
    return std::nullopt;
  return tl::unexpected(size == -1 ? ended() : broke());
}

/// Why the server ended the stream.
error replication_connection::ended() const {
  const answer_ptr answer{PQgetResult(from_.get())};
  if (answer && PQresultStatus(answer.get()) == PGRES_FATAL_ERROR)
    return statement_error(answer.get(), request_.to.describe(), doing_stream);
  return {errc::source_unavailable,
          fmt::format("{}: the server ended the replication stream", request_.to.describe())};
}

error replication_connection::broke() const {
  return broken_connection(from_.get(), request_.to.describe(), doing_stream);
}

result<void> replication_connection::send(std::span<const std::byte> message) {
  const auto put = PQputCopyData(from_.get(), reinterpret_cast<const char*>(message.data()),
                                 static_cast<int>(message.size()));
  // 0: the buffer cannot grow now, which a peer that takes nothing leads to.
  if (put < 0)
    return tl::unexpected(broke());
  return flush();
}

result<void> replication_connection::flush() {
  const auto left = PQflush(from_.get());
  if (left < 0)
    return tl::unexpected(broke());
  wants_ = left > 0 ? POLLOUT : 0;
  return {};
}

// Closing a socket with unread bytes resets the connection, and a reset overtakes what was said
// last; so the bytes that are there are taken first.
void replication_connection::close() noexcept {
  if (phase_ == phase::streaming && PQstatus(from_.get()) == CONNECTION_OK &&
      PQputCopyEnd(from_.get(), nullptr) == 1 && PQflush(from_.get()) >= 0) {
    ::shutdown(socket(), SHUT_WR);
    std::array<char, 64 * 1024> unread;
    for (int i = 0; i < 64 && ::recv(socket(), unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i)
      continue;
  }
  message_.reset();
  from_.reset();
  phase_ = phase::unconnected;
  wants_ = 0;
}

int replication_connection::socket() const noexcept {
  return from_ ? PQsocket(from_.get()) : -1;
}

} // namespace cdc::sources::postgres
