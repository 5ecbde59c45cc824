#include "sources/postgres/log_stream.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <poll.h>

#include "sources/postgres/flow_meter.hpp"

namespace cdc::sources::postgres {

namespace {

// A row that waits for more of a busy stream waits a millisecond at most, the next nap included.
constexpr std::chrono::microseconds block_age_max{800};
// A stream without a message for this long is asked for single bytes too: a message of hundreds of
// megabytes is not silence.
constexpr std::chrono::milliseconds silence_min{100};
// libpq keeps room for at least this much when it reads.
constexpr std::size_t full_read = 8192;
// A call for less costs more than it brings while more is coming anyway.
constexpr std::size_t worth_a_read = 4096;

class walsender_stream final : public log_stream {
public:
  walsender_stream(stream_request request, const std::vector<relation_ptr>& known,
                   std::shared_ptr<patience> allowed, stream_options options)
      : resume_(request.resume), allowed_(std::move(allowed)), connection_(std::move(request)),
        core_(resume_, options) {
    for (const auto& shape : known)
      core_.provide(shape);
  }

  int socket() const noexcept override { return connection_.socket(); }
  short wants_events(bool may_read) const noexcept override;
  clock::time_point deadline() const noexcept override;
  result<next> advance(clock::time_point now, bool may_read) override;
  block_ptr take_block() override;

  void confirm(position durable) noexcept override { core_.confirm(durable); }
  void ask_for_position() noexcept override { core_.ask_for_position(); }
  std::optional<std::uint32_t> unknown_relation() const noexcept override {
    return core_.unknown_relation();
  }
  void provide(relation_ptr shape) override { core_.provide(std::move(shape)); }
  void close() noexcept override;

private:
  enum class drain_end : std::uint8_t { socket_empty, block_full, held };

  [[nodiscard]] result<drain_end> drain(clock::time_point now);
  [[nodiscard]] result<drain_end> take_messages(clock::time_point now);
  [[nodiscard]] result<void> serve(clock::time_point now, bool reading);
  [[nodiscard]] next after(drain_end end, clock::time_point now);
  [[nodiscard]] error lost(error silence) const;

  position resume_;
  std::shared_ptr<patience> allowed_;
  replication_connection connection_;
  stream_core core_;
  flow_meter flow_;
  std::span<const std::byte> held_;             ///< A message that waits for a shape.
  std::optional<clock::time_point> open_since_; ///< When the block got its first event.
  std::size_t drained_ = 0;                     ///< Bytes of the drain under way, or the last.
  bool running_ = false;
  bool nap_due_ = false;
};

short walsender_stream::wants_events(bool may_read) const noexcept {
  const auto reads = running_ && may_read && held_.empty();
  const auto streams = reads ? POLLIN : POLLRDHUP;
  return static_cast<short>(connection_.wants_events() | (running_ ? streams : 0));
}

clock::time_point walsender_stream::deadline() const noexcept {
  return running_ ? core_.deadline() : connection_.deadline();
}

result<log_stream::next> walsender_stream::advance(clock::time_point now, bool may_read) {
  if (!running_) {
    const auto ready = connection_.connect(now);
    if (!ready || !*ready)
      return ready.map([](bool) { return next::poll; });
    running_ = true;
    core_.start(now);
  }
  const auto naps = std::exchange(nap_due_, false);
  if (!may_read) {
    if (auto alive = connection_.check(); !alive)
      return tl::unexpected(alive.error());
    return serve(now, false).map([] { return next::poll; });
  }
  // The block was shipped for its age, out of a flow: little has come since.
  if (naps)
    return next::nap;
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
log_stream::next walsender_stream::after(drain_end end, clock::time_point now) {
  if (core_.full())
    return next::ship;
  const auto more_comes = end == drain_end::socket_empty && drained_ > 0 && flow_.busy();
  const auto is_due = !more_comes || now - open_since_.value_or(now) >= block_age_max;
  if (!core_.empty() && is_due) {
    nap_due_ = more_comes;
    return next::ship;
  }
  return more_comes ? next::nap : next::poll;
}

result<walsender_stream::drain_end> walsender_stream::drain(clock::time_point now) {
  drained_ = 0;
  auto end = take_messages(now);
  while (end && *end == drain_end::socket_empty) {
    if (now - core_.heard_at() >= silence_min && connection_.input() > 0)
      core_.heard(now);
    const auto before = drained_;
    if (auto got = connection_.read(); !got)
      return tl::unexpected(got.error());
    end = take_messages(now);
    if (connection_.has_decrypted())
      continue;
    const auto got = drained_ - before;
    // Of TLS a read brings one record, often of one row: only one that brings nothing tells that
    // the socket is empty. Without it, one that brought less than libpq had room for tells; and of
    // a flow, the first bytes behind a full one are better left to grow.
    if (connection_.is_encrypted()
            ? got == 0
            : got < full_read || (flow_.busy() && connection_.input() < worth_a_read))
      break;
  }
  flow_.drained(drained_, now);
  return end;
}

/// Takes the messages that libpq holds.
result<walsender_stream::drain_end> walsender_stream::take_messages(clock::time_point now) {
  for (;;) {
    if (core_.full())
      return drain_end::block_full;
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
result<void> walsender_stream::serve(clock::time_point now, bool reading) {
  const auto due = core_.tick(now, reading);
  if (!due)
    return tl::unexpected(due.error().code == errc::source_unavailable ? lost(due.error())
                                                                       : due.error());
  if (*due)
    return connection_.send(encode(**due, std::chrono::system_clock::now()));
  return connection_.wants_events() ? connection_.flush() : result<void>{};
}

error walsender_stream::lost(error silence) const {
  if (allowed_) {
    if (core_.passed() > resume_)
      allowed_->progressed();
    else
      allowed_->ran_out();
  }
  return {silence.code, connection_.describe() + ": " + silence.detail};
}

block_ptr walsender_stream::take_block() {
  open_since_.reset();
  return core_.take_block();
}

void walsender_stream::close() noexcept {
  if (const auto words = core_.last_words(); running_ && words)
    (void)connection_.send(encode(*words, std::chrono::system_clock::now()));
  connection_.close();
  running_ = false;
}

} // namespace

std::unique_ptr<log_stream> make_log_stream(stream_request request,
                                            const std::vector<relation_ptr>& known,
                                            std::shared_ptr<patience> allowed,
                                            stream_options options) {
  if (allowed)
    options.feedback.answer_within = allowed->allowed();
  return std::make_unique<walsender_stream>(std::move(request), known, std::move(allowed), options);
}

} // namespace cdc::sources::postgres
