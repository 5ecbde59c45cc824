#include "sinks/ndjson/standard_output_target.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <climits>
#include <poll.h>
#include <unistd.h>

namespace cdc::sinks::ndjson {

namespace {

constexpr int poll_milliseconds = 50;

} // namespace

result<sink_state> standard_output_target::open(const stream_identity& stream) {
  // A reader that has gone away is an error to report here, not a signal that ends the process.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  return state_.open(stream);
}

result<std::vector<std::string>>
standard_output_target::prepare(const std::vector<target_table_ptr>&) {
  return std::vector<std::string>();
}

result<write_report> standard_output_target::write(const batch& work) {
  const auto done = put(lines_.render(work)).and_then([&] { return state_.write(work); });
  if (!done)
    return tl::unexpected(done.error());
  auto report = report_of(work);
  if (work.is_durable && work.ends_transaction && state_.resume())
    report.durable = state_.resume()->resume;
  return report;
}

/// A writable pipe has room for PIPE_BUF bytes: pieces of that size never block.
result<void> standard_output_target::put(std::string_view lines) {
  do {
    if (auto room = wait_for_room(); !room)
      return room;
    const auto piece = lines.substr(0, PIPE_BUF);
    const auto written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (written < 0)
      return fail(errno == EPIPE ? errc::target_misconfigured : errc::target_unavailable,
                  "standard output: writing failed: {}", std::strerror(errno));
    lines.remove_prefix(static_cast<std::size_t>(written));
  } while (!lines.empty());
  return {};
}

result<void> standard_output_target::wait_for_room() const {
  pollfd wanted{descriptor_, POLLOUT, 0};
  for (;;) {
    if (is_interrupted_)
      return fail(errc::cancelled, "the target was told to stop");
    if (::poll(&wanted, 1, poll_milliseconds) > 0)
      return {};
  }
}

} // namespace cdc::sinks::ndjson
