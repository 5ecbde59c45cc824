#include "sources/postgres/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sources/postgres/errors.hpp"

namespace cdc::sources::postgres {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto forever = clock::time_point::max();

enum class woken : std::uint8_t { socket, stop, deadline };

int milliseconds_until(clock::time_point deadline) {
  if (deadline == forever)
    return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

woken wait(int socket, short events, const stop_signal* stop, clock::time_point deadline) {
  std::array<pollfd, 2> on{
      {{.fd = socket, .events = events, .revents = 0},
       {.fd = stop ? stop->descriptor() : -1, .events = POLLIN, .revents = 0}}};
  for (;;) {
    const auto ready = ::poll(on.data(), on.size(), milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR)
      continue;
    if (on[1].revents != 0)
      return woken::stop;
    if (ready != 0)
      return woken::socket;
    if (clock::now() >= deadline)
      return woken::deadline;
  }
}

} // namespace

// -- stop_signal ----------------------------------------------------------------------------------

stop_signal::stop_signal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // nop
}

stop_signal::~stop_signal() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void stop_signal::raise() noexcept {
  const std::uint64_t one = 1;
  // It cannot fail but by being raised 2^64 times; nobody ever reads it down.
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

bool stop_signal::raised() const noexcept {
  pollfd on{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&on, 1, 0) > 0;
}

// -- rows -----------------------------------------------------------------------------------------

void rows::clear::operator()(pg_result* from) const noexcept {
  PQclear(from);
}

int rows::size() const noexcept {
  return PQntuples(from_.get());
}

int rows::columns() const noexcept {
  return PQnfields(from_.get());
}

bool rows::is_null(int row, int column) const noexcept {
  return PQgetisnull(from_.get(), row, column) != 0;
}

std::string_view rows::text(int row, int column) const noexcept {
  return {PQgetvalue(from_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(from_.get(), row, column))};
}

// -- connecting -----------------------------------------------------------------------------------

void connection::finish::operator()(pg_conn* from) const noexcept {
  PQfinish(from);
}

void connection::free_memory::operator()(char* from) const noexcept {
  PQfreemem(from);
}

connection::connection(pg_conn* from, std::string description,
                       std::shared_ptr<const stop_signal> stop)
    : from_(from), description_(std::move(description)), stop_(std::move(stop)) {
  // nop
}

result<connection> connection::open(const conninfo& to, std::shared_ptr<const stop_signal> stop) {
  const auto keywords = to.keywords();
  const auto values = to.values();
  connection out{PQconnectStartParams(keywords.data(), values.data(), 0), to.describe(),
                 std::move(stop)};
  if (auto done = out.establish(to.connect_timeout()); !done)
    return tl::unexpected(done.error());
  return out;
}

result<void> connection::establish(std::chrono::seconds timeout) {
  auto* c = from_.get();
  if (!c || PQstatus(c) == CONNECTION_BAD)
    return tl::unexpected(connect_error(c, description_));
  // So that a refusal carries its SQLSTATE.
  PQsetErrorVerbosity(c, PQERRORS_VERBOSE);
  const auto deadline = clock::now() + timeout;
  for (auto step = PGRES_POLLING_WRITING; step != PGRES_POLLING_OK; step = PQconnectPoll(c)) {
    if (step == PGRES_POLLING_FAILED)
      return tl::unexpected(connect_error(c, description_));
    const short events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    switch (wait(PQsocket(c), events, stop_.get(), deadline)) {
      case woken::stop:
        return tl::unexpected(stopped());
      case woken::deadline:
        return fail(errc::source_unavailable,
                    "cannot connect to {}: no answer within {} s; check host, port and firewall",
                    description_, timeout.count());
      case woken::socket:
        break;
    }
  }
  PQsetErrorVerbosity(c, PQERRORS_DEFAULT);
  PQsetNoticeProcessor(
      c, [](void*, const char*) {}, nullptr);
  return {};
}

// -- statements -----------------------------------------------------------------------------------

result<rows> connection::query(const std::string& sql, std::span<const std::string> parameters,
                               std::string_view doing) {
  std::vector<const char*> values;
  for (const auto& parameter : parameters)
    values.push_back(parameter.c_str());
  if (PQsendQueryParams(from_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, 0) == 0)
    return tl::unexpected(broke(doing));
  auto all = results(doing, {}, nullptr);
  if (!all)
    return tl::unexpected(all.error());
  return std::move(all->back());
}

result<rows> connection::run(const std::string& sql, std::string_view doing) {
  auto all = run_all(sql, doing);
  if (!all)
    return tl::unexpected(all.error());
  return std::move(all->back());
}

result<rows> connection::run(const std::string& sql, std::string_view doing,
                             std::chrono::milliseconds each,
                             const std::function<void()>& meanwhile) {
  if (PQsendQuery(from_.get(), sql.c_str()) == 0)
    return tl::unexpected(broke(doing));
  auto all = results(doing, each, &meanwhile);
  if (!all)
    return tl::unexpected(all.error());
  return std::move(all->back());
}

result<std::vector<rows>> connection::run_all(const std::string& sql, std::string_view doing) {
  if (PQsendQuery(from_.get(), sql.c_str()) == 0)
    return tl::unexpected(broke(doing));
  return results(doing, {}, nullptr);
}

result<std::vector<rows>> connection::results(std::string_view doing,
                                              std::chrono::milliseconds each,
                                              const std::function<void()>* meanwhile) {
  auto* c = from_.get();
  std::vector<rows> out;
  std::optional<error> refused;
  for (;;) {
    if (auto ready = await_result(doing, each, meanwhile); !ready)
      return tl::unexpected(ready.error());
    auto* next = PQgetResult(c);
    if (!next)
      break;
    rows got{next};
    const auto status = PQresultStatus(next);
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
      refused = statement_error(next, description_, doing);
    } else {
      out.push_back(std::move(got));
    }
    if (status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
      return out;
  }
  if (refused)
    return tl::unexpected(*refused);
  if (out.empty())
    return tl::unexpected(broke(doing));
  return out;
}

result<void> connection::await_result(std::string_view doing, std::chrono::milliseconds each,
                                      const std::function<void()>* meanwhile) {
  auto* c = from_.get();
  auto next_call = meanwhile ? clock::now() + each : forever;
  for (;;) {
    const auto unsent = PQflush(c);
    if (unsent < 0)
      return tl::unexpected(broke(doing));
    if (unsent == 0 && PQisBusy(c) == 0)
      return {};
    const short events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
    switch (wait(PQsocket(c), events, stop_.get(), next_call)) {
      case woken::stop:
        return tl::unexpected(stopped());
      case woken::deadline:
        (*meanwhile)();
        next_call = clock::now() + each;
        break;
      case woken::socket:
        if (PQconsumeInput(c) == 0)
          return tl::unexpected(broke(doing));
    }
  }
}

// -- COPY -----------------------------------------------------------------------------------------

result<void> connection::begin_copy(const std::string& sql, std::string_view doing) {
  doing_ = doing;
  if (PQsendQuery(from_.get(), sql.c_str()) == 0)
    return tl::unexpected(broke(doing));
  const auto started = results(doing, {}, nullptr);
  if (!started)
    return tl::unexpected(started.error());
  copying_ = true;
  return {};
}

result<bool> connection::copy_row(std::string_view& row) {
  auto* c = from_.get();
  for (;;) {
    char* bytes = nullptr;
    const auto size = PQgetCopyData(c, &bytes, 1);
    if (size > 0) {
      row_.reset(bytes);
      row = {bytes, static_cast<std::size_t>(size)};
      return true;
    }
    if (size < 0)
      break;
    if (wait(PQsocket(c), POLLIN, stop_.get(), forever) == woken::stop)
      return tl::unexpected(stopped());
    if (PQconsumeInput(c) == 0)
      return tl::unexpected(broke(doing_));
  }
  if (auto ended = end_copy(); !ended)
    return tl::unexpected(ended.error());
  return false;
}

result<void> connection::end_copy() {
  row_.reset();
  copying_ = false;
  // What stands behind the rows is the statement's verdict.
  const auto verdict = results(doing_, {}, nullptr);
  if (!verdict)
    return tl::unexpected(verdict.error());
  return {};
}

// -- the rest -------------------------------------------------------------------------------------

int connection::server_version() const noexcept {
  return PQserverVersion(from_.get());
}

int connection::backend_pid() const noexcept {
  return PQbackendPID(from_.get());
}

bool connection::broken() const noexcept {
  return !from_ || PQstatus(from_.get()) != CONNECTION_OK;
}

void connection::request_cancel() noexcept {
  std::array<char, 256> message{};
  auto* request = PQgetCancel(from_.get());
  if (!request)
    return;
  PQcancel(request, message.data(), static_cast<int>(message.size()));
  PQfreeCancel(request);
}

// A backend that sends notices a closed socket by itself; one that waits for a lock or computes
// does not, and is asked to stop.
error connection::stopped() {
  if (!copying_ && !broken())
    request_cancel();
  from_.reset();
  copying_ = false;
  return {errc::cancelled, fmt::format("{}: stopped", description_)};
}

error connection::broke(std::string_view doing) const {
  return broken_connection(from_.get(), description_, doing);
}

std::string quote_identifier(std::string_view name) {
  std::string out{'"'};
  for (const auto c : name)
    out.append(c == '"' ? 2 : 1, c);
  out.push_back('"');
  return out;
}

std::string quote_literal(std::string_view text) {
  std::string out{'\''};
  for (const auto c : text)
    out.append(c == '\'' ? 2 : 1, c);
  out.push_back('\'');
  return out;
}

} // namespace cdc::sources::postgres
