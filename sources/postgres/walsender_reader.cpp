#include "sources/postgres/walsender_reader.hpp"

#include <chrono>
#include <utility>

#include <poll.h>

namespace cdc::sources::postgres {

namespace {

// A row that waits for more of a busy stream waits a millisecond at most, the next nap included.
constexpr std::chrono::microseconds block_age_max{800};
// A stream without a message for this long is asked for single bytes too: a message of hundreds of
// megabytes is not silence.
constexpr std::chrono::milliseconds silence_min{100};
// A call for less costs more than it brings while more is coming anyway.
constexpr std::size_t worth_a_read = 4096;

} // namespace

walsender_reader::walsender_reader(stream_request request, stream_core& core,
                                   std::shared_ptr<patience> allowed)
    : resume_(request.resume), core_(core), allowed_(std::move(allowed)),
      connection_(std::move(request)) {
  // nop
}

short walsender_reader::wants_events(bool may_read) const noexcept {
  const auto reads = running_ && may_read && held_.empty();
  const auto streams = reads ? POLLIN : POLLRDHUP;
  return static_cast<short>(connection_.wants_events() | (running_ ? streams : 0));
}

clock::time_point walsender_reader::deadline() const noexcept {
  return running_ ? core_.deadline() : connection_.deadline();
}

result<step> walsender_reader::advance(clock::time_point now, bool may_read) {
  if (!running_) {
    const auto stands = connection_.connect(now);
    if (!stands)
      return tl::unexpected(stands.error());
    is_identified_ = *stands == replication_connection::state::identified;
    if (*stands != replication_connection::state::streaming)
      return step::poll;
    running_ = true;
    core_.start(now);
  }
  const auto naps = std::exchange(nap_due_, false);
  if (!may_read) {
    if (auto alive = connection_.check(); !alive)
      return tl::unexpected(alive.error());
    return serve(now, false).map([] { return step::poll; });
  }
  // The block was shipped for its age, out of a flow: little has come since.
  if (naps)
    return step::nap;
  return read(now);
}

std::optional<position> walsender_reader::identified() const noexcept {
  return is_identified_ ? std::optional{connection_.log_end()} : std::nullopt;
}

result<step> walsender_reader::read(clock::time_point now) {
  const auto end = drain(now);
  if (!end)
    return tl::unexpected(end.error());
  if (*end == drain_end::held) {
    if (auto alive = connection_.check(); !alive)
      return tl::unexpected(alive.error());
  }
  if (auto served = serve(now, *end != drain_end::held); !served)
    return tl::unexpected(served.error());
  if (!core_.empty() && !open_since_)
    open_since_ = now;
  return after(*end, now);
}

/// What is best done with what was drained: waiting pays only while more is coming, and only so
/// long as nobody misses the rows that wait.
step walsender_reader::after(drain_end end, clock::time_point now) {
  if (end == drain_end::boundary)
    return core_.empty() ? step::leave : step::ship;
  if (core_.full())
    return step::ship;
  const auto more_comes = end == drain_end::socket_empty && drained_ > 0 && flow_.busy();
  const auto is_due = !more_comes || now - open_since_.value_or(now) >= block_age_max;
  if (!core_.empty() && is_due) {
    nap_due_ = more_comes;
    return step::ship;
  }
  return more_comes ? step::nap : step::poll;
}

result<walsender_reader::drain_end> walsender_reader::drain(clock::time_point now) {
  drained_ = 0;
  auto end = take_messages(now);
  while (end && *end == drain_end::socket_empty) {
    if (now - core_.heard_at() >= silence_min && connection_.input() > 0)
      core_.heard(now);
    const auto before = drained_;
    if (auto got = connection_.read(); !got)
      return tl::unexpected(got.error());
    end = take_messages(now);
    if (connection_.emptied_by(drained_ - before))
      break;
    // Of a flow, the first bytes behind a full read are better left to grow.
    if (!connection_.is_encrypted() && flow_.busy() && connection_.input() < worth_a_read)
      break;
  }
  flow_.drained(drained_, now);
  return end;
}

/// Takes the messages that libpq holds.
result<walsender_reader::drain_end> walsender_reader::take_messages(clock::time_point now) {
  for (;;) {
    if (core_.full())
      return drain_end::block_full;
    if (may_leave())
      return drain_end::boundary;
    if (held_.empty()) {
      const auto message = connection_.next_message();
      if (!message)
        return tl::unexpected(message.error());
      if (!*message)
        return drain_end::socket_empty;
      held_ = **message;
    }
    if (core_.holding())
      return drain_end::held;
    const auto fed = core_.feed(held_, now);
    if (!fed)
      return tl::unexpected(fed.error());
    if (*fed == stream_core::fed::held)
      return drain_end::held;
    drained_ += held_.size();
    held_ = {};
  }
}

/// Sends what is due, and finds out whether the server still answers.
result<void> walsender_reader::serve(clock::time_point now, bool reading) {
  const auto due = core_.tick(now, reading);
  if (!due)
    return tl::unexpected(due.error().code == errc::source_unavailable ? lost(due.error())
                                                                       : due.error());
  if (*due)
    return connection_.send(encode(**due, std::chrono::system_clock::now()));
  return connection_.wants_events() ? connection_.flush() : result<void>{};
}

error walsender_reader::lost(const error& silence) const {
  if (allowed_) {
    if (core_.passed() > resume_)
      allowed_->progressed();
    else
      allowed_->ran_out();
  }
  return {silence.code, connection_.describe() + ": " + silence.detail};
}

void walsender_reader::close() noexcept {
  if (const auto words = core_.last_words(); running_ && words) {
    if (connection_.send(encode(*words, std::chrono::system_clock::now())))
      core_.reported(words->durable);
  }
  connection_.close();
  running_ = false;
}

} // namespace cdc::sources::postgres
