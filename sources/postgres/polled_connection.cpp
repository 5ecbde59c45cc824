#include "sources/postgres/polled_connection.hpp"

#include <array>
#include <utility>

#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sources/postgres/errors.hpp"

namespace cdc::sources::postgres {

namespace {

// libpq keeps room for at least this much when it reads.
constexpr std::size_t full_read = 8192;

} // namespace

void clear_answer::operator()(pg_result* from) const noexcept {
  PQclear(from);
}

std::string_view sqlstate_of(const pg_result* from) noexcept {
  const auto* text = PQresultErrorField(from, PG_DIAG_SQLSTATE);
  return text ? text : std::string_view{};
}

void polled_connection::finish::operator()(pg_conn* from) const noexcept {
  PQfinish(from);
}

void polled_connection::free_memory::operator()(char* from) const noexcept {
  PQfreemem(from);
}

polled_connection::polled_connection(conninfo to, std::string doing)
    : to_(std::move(to)), doing_(std::move(doing)) {
  // nop
}

// -- connecting -----------------------------------------------------------------------------------

result<bool> polled_connection::connect(clock::time_point now) {
  if (is_connected_)
    return true;
  if (!from_) {
    connect_by_ = now + to_.connect_timeout();
    if (auto begun = begin(); !begun)
      return tl::unexpected(begun.error());
  }
  // PQconnectPoll must not be called before the socket is ready for what it waits for.
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
      return tl::unexpected(connect_error(from_.get(), describe()));
  }
  PQsetErrorVerbosity(from_.get(), PQERRORS_DEFAULT);
  PQsetNoticeProcessor(
      from_.get(), [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(from_.get(), 1) != 0)
    return tl::unexpected(broke());
  is_connected_ = true;
  return true;
}

result<void> polled_connection::begin() {
  const auto keywords = to_.keywords();
  const auto values = to_.values();
  from_.reset(PQconnectStartParams(keywords.data(), values.data(), 0));
  if (!from_ || PQstatus(from_.get()) == CONNECTION_BAD)
    return tl::unexpected(connect_error(from_.get(), describe()));
  PQsetErrorVerbosity(from_.get(), PQERRORS_VERBOSE);
  wants_ = POLLOUT;
  return {};
}

result<void> polled_connection::expired(clock::time_point now) const {
  if (now < connect_by_)
    return {};
  return fail(errc::source_unavailable,
              "cannot connect to {}: no answer within {} s; check host, port and firewall",
              describe(), to_.connect_timeout().count());
}

// -- commands -------------------------------------------------------------------------------------

result<void> polled_connection::command(const std::string& text) {
  if (PQsendQuery(from_.get(), text.c_str()) == 0)
    return tl::unexpected(broke());
  return {};
}

result<bool> polled_connection::answer_ready() {
  if (auto sent = flush(); !sent)
    return tl::unexpected(sent.error());
  if (PQconsumeInput(from_.get()) == 0)
    return tl::unexpected(broke());
  wants_ |= POLLIN;
  return PQisBusy(from_.get()) == 0;
}

answer_ptr polled_connection::next_answer() {
  return answer_ptr{PQgetResult(from_.get())};
}

// -- what is copied -------------------------------------------------------------------------------

std::size_t polled_connection::input() const noexcept {
  int bytes = 0;
  return ::ioctl(socket(), FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

// Bytes that nobody reads may hide the end behind them from recv(), but not from poll().
result<void> polled_connection::check() const {
  pollfd on{.fd = socket(), .events = POLLRDHUP, .revents = 0};
  if (::poll(&on, 1, 0) <= 0 || on.revents == 0)
    return {};
  return fail(errc::source_unavailable, "{}: the server closed the connection, cannot {}",
              describe(), doing_);
}

result<void> polled_connection::read() {
  if (PQconsumeInput(from_.get()) == 0)
    return tl::unexpected(broke());
  return {};
}

// Without TLS, a read that brought less than libpq had room for has emptied the socket. Of TLS it
// brings one record, often of one row: only one that brought nothing tells, and not while TLS
// itself still holds bytes of the socket, of which no poll would tell.
bool polled_connection::emptied_by(std::size_t got) const noexcept {
  if (!is_encrypted())
    return got < full_read;
  auto* tls = static_cast<SSL*>(PQsslStruct(from_.get(), "OpenSSL"));
  return got == 0 && (!tls || SSL_pending(tls) == 0);
}

bool polled_connection::is_encrypted() const noexcept {
  return PQsslInUse(from_.get()) != 0;
}

result<polled_connection::copied> polled_connection::next_copied() {
  char* bytes = nullptr;
  const auto size = PQgetCopyData(from_.get(), &bytes, 1);
  message_.reset(bytes);
  if (size > 0) [[likely]]
    return copied{std::as_bytes(std::span{bytes, static_cast<std::size_t>(size)})};
  if (size == 0)
    return copied{};
  if (size == -1)
    return copied{std::nullopt, true};
  return tl::unexpected(broke());
}

result<void> polled_connection::put(std::span<const std::byte> message) {
  const auto done = PQputCopyData(from_.get(), reinterpret_cast<const char*>(message.data()),
                                  static_cast<int>(message.size()));
  // 0: the buffer cannot grow now, which a peer that takes nothing leads to.
  if (done < 0)
    return tl::unexpected(broke());
  return flush();
}

result<void> polled_connection::flush() {
  const auto left = PQflush(from_.get());
  if (left < 0)
    return tl::unexpected(broke());
  wants_ = left > 0 ? POLLOUT : 0;
  return {};
}

// -- ending ---------------------------------------------------------------------------------------

// Closing a socket with unread bytes resets the connection, and a reset overtakes what was said
// last; so the bytes that are there are taken first.
void polled_connection::end_copy() noexcept {
  if (PQstatus(from_.get()) != CONNECTION_OK || PQputCopyEnd(from_.get(), nullptr) != 1 ||
      PQflush(from_.get()) < 0)
    return;
  ::shutdown(socket(), SHUT_WR);
  std::array<char, 64 * 1024> unread;
  for (int i = 0; i < 64 && ::recv(socket(), unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i)
    continue;
}

void polled_connection::cancel() noexcept {
  std::array<char, 256> message{};
  auto* request = from_ ? PQgetCancel(from_.get()) : nullptr;
  if (!request)
    return;
  PQcancel(request, message.data(), static_cast<int>(message.size()));
  PQfreeCancel(request);
}

void polled_connection::close() noexcept {
  message_.reset();
  from_.reset();
  is_connected_ = false;
  wants_ = 0;
}

int polled_connection::socket() const noexcept {
  return from_ ? PQsocket(from_.get()) : -1;
}

int polled_connection::backend_pid() const noexcept {
  return from_ ? PQbackendPID(from_.get()) : 0;
}

int polled_connection::server_version() const noexcept {
  return from_ ? PQserverVersion(from_.get()) : 0;
}

error polled_connection::broke() const {
  return broken_connection(from_.get(), describe(), doing_);
}

error polled_connection::refused(const pg_result* answer) const {
  return statement_error(answer, describe(), doing_);
}

} // namespace cdc::sources::postgres
