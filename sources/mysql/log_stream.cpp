#include "sources/mysql/log_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <poll.h>

namespace cdc::sources::mysql {

namespace {

// Read ahead by the thread: enough that it never waits while blocks are made.
constexpr std::size_t bytes_ahead = std::size_t{4} << 20;

class dumped_stream final : public log_stream {
public:
  dumped_stream(stream_request request, const std::vector<relation_ptr>& known,
                stream_options options)
      : dump_request_{.to = std::move(request.to),
                      .server_id = request.server_id,
                      .from = request.from.at.place(request.from.resume),
                      .gtids = {}},
        core_(std::move(request.from), options), needed_(std::move(request.needed)) {
    for (const auto& shape : known)
      core_.provide(shape);
  }

  int socket() const noexcept override { return dump_ ? dump_->events().descriptor() : -1; }
  short wants_events(bool may_read) const noexcept override {
    // One that waits for a shape is woken by its answer.
    return may_read && !core_.unknown_relation() ? POLLIN : 0;
  }
  clock::time_point deadline() const noexcept override { return core_.advance_due(); }
  result<next> advance(clock::time_point now, bool may_read) override;
  block_ptr take_block() override { return core_.take_block(); }

  void confirm(position durable) noexcept override {
    if (needed_)
      needed_->store(durable.token, std::memory_order_relaxed);
  }
  void ask_for_position() noexcept override { core_.ask_for_position(); }
  std::optional<std::uint32_t> unknown_relation() const noexcept override {
    return core_.unknown_relation();
  }
  void provide(relation_ptr shape) override { core_.provide(std::move(shape)); }
  std::optional<std::string> take_news() override { return core_.take_news(); }
  void close() noexcept override {
    if (dump_)
      dump_->stop();
  }

private:
  [[nodiscard]] result<stream_core::fed> feed_next(clock::time_point now);
  [[nodiscard]] result<bool> refill();

  dump_request dump_request_;
  stream_core core_;
  std::shared_ptr<std::atomic<std::uint64_t>> needed_;
  std::unique_ptr<log_dump> dump_;
  std::vector<std::byte> chunk_; ///< Events behind their lengths …
  std::size_t chunk_at_ = 0;     ///< … and the one to be fed next.
};

result<log_stream::next> dumped_stream::advance(clock::time_point now, bool may_read) {
  if (!dump_)
    dump_ = std::make_unique<log_dump>(dump_request_, bytes_ahead);
  core_.pass_on(now);
  while (may_read) {
    if (core_.full())
      return next::ship;
    auto fed = stream_core::fed::taken;
    if (core_.busy()) {
      const auto went = core_.go_on(now);
      if (!went)
        return tl::unexpected(went.error());
      fed = *went;
    } else if (chunk_at_ == chunk_.size()) {
      const auto more = refill();
      if (!more)
        return tl::unexpected(more.error());
      if (!*more)
        break;
    } else {
      const auto went = feed_next(now);
      if (!went)
        return tl::unexpected(went.error());
      fed = *went;
    }
    if (fed == stream_core::fed::full)
      return next::ship;
    if (fed == stream_core::fed::held)
      break;
  }
  return core_.empty() || !may_read ? next::poll : next::ship;
}

result<stream_core::fed> dumped_stream::feed_next(clock::time_point now) {
  std::uint32_t size = 0;
  std::memcpy(&size, chunk_.data() + chunk_at_, sizeof size);
  const std::span event{chunk_.data() + chunk_at_ + sizeof size, size};
  chunk_at_ += sizeof size + size;
  return core_.feed(event, now);
}

/// Whether there are events.
result<bool> dumped_stream::refill() {
  chunk_at_ = 0;
  dump_->events().take(chunk_);
  if (!chunk_.empty()) {
    core_.negotiated(dump_->negotiated());
    return true;
  }
  if (auto failed = dump_->events().failure())
    return tl::unexpected(*std::move(failed));
  return false;
}

} // namespace

std::unique_ptr<log_stream> make_log_stream(stream_request request,
                                            const std::vector<relation_ptr>& known,
                                            stream_options options) {
  return std::make_unique<dumped_stream>(std::move(request), known, options);
}

} // namespace cdc::sources::mysql
