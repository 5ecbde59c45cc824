#include "sources/postgres/log_stream.hpp"

#include <algorithm>
#include <utility>

#include "sources/postgres/catch_up_reader.hpp"
#include "sources/postgres/log_probe.hpp"
#include "sources/postgres/walsender_reader.hpp"

namespace cdc::sources::postgres {

namespace {

// A question under way is looked after this often: the owner polls one socket alone.
constexpr std::chrono::milliseconds probe_step{10};

/// Reads a slot from its walsender or, far behind, from a copy of it. Both feed the same core.
class slot_stream final : public log_stream {
public:
  slot_stream(stream_request request, const std::vector<relation_ptr>& known,
              std::shared_ptr<patience> allowed, stream_options options,
              std::optional<catch_up_use> catch_up)
      : request_(std::move(request)), allowed_(std::move(allowed)), use_(std::move(catch_up)),
        silence_(options.feedback), core_(request_.resume, options),
        watch_(use_ ? use_->options : catch_up_options{}) {
    for (const auto& shape : known)
      core_.provide(shape);
    open_walsender();
  }

  int socket() const noexcept override { return pull_ ? pull_->socket() : walsender_->socket(); }
  short wants_events(bool may_read) const noexcept override {
    return pull_ ? pull_->wants_events(may_read) : walsender_->wants_events(may_read);
  }
  clock::time_point deadline() const noexcept override;
  result<next> advance(clock::time_point now, bool may_read) override;
  block_ptr take_block() override;

  void confirm(position durable) noexcept override { core_.confirm(durable); }
  void ask_for_position() noexcept override { core_.ask_for_position(); }
  std::optional<std::uint32_t> unknown_relation() const noexcept override {
    return core_.unknown_relation();
  }
  void provide(relation_ptr shape) override { core_.provide(std::move(shape)); }
  log_reading reading() const noexcept override;
  std::optional<std::string> take_news() override;
  void close() noexcept override;

private:
  [[nodiscard]] result<step> go_on(clock::time_point now, bool may_read);
  [[nodiscard]] bool may_pull(clock::time_point now) const;
  [[nodiscard]] bool is_far_behind(position log_end, clock::time_point now) const;
  void open_walsender();
  void change_reader();
  void watch(clock::time_point now, bool may_read);
  void ask_how_far(clock::time_point now);

  stream_request request_;
  std::shared_ptr<patience> allowed_;
  std::optional<catch_up_use> use_;
  feedback_options silence_;
  stream_core core_;
  std::unique_ptr<walsender_reader> walsender_;
  std::unique_ptr<catch_up_reader> pull_; ///< While there is one, the walsender is closed.
  backlog_watch watch_;
  std::unique_ptr<log_probe> probe_;
  bool is_watched_ = false; ///< Since the stream runs.
  bool has_pulled_ = false; ///< And came to the end of it: now the stream has its turn.
  bool has_failed_ = false;
  int walsender_pid_ = 0;
  position log_end_;
  clock::time_point stepped_at_;
};

// -- the owner's side -----------------------------------------------------------------------------

clock::time_point slot_stream::deadline() const noexcept {
  const auto at = pull_ ? std::min(pull_->deadline(), core_.advance_due()) : walsender_->deadline();
  return probe_ ? std::min(at, stepped_at_ + probe_step) : at;
}

result<log_stream::next> slot_stream::advance(clock::time_point now, bool may_read) {
  for (;;) {
    const auto went = go_on(now, may_read);
    if (!went) {
      has_failed_ = true;
      return tl::unexpected(went.error());
    }
    switch (*went) {
      case step::poll:
        return next::poll;
      case step::ship:
        return next::ship;
      case step::nap:
        return next::nap;
      case step::leave:
        change_reader();
    }
  }
}

result<step> slot_stream::go_on(clock::time_point now, bool may_read) {
  if (pull_)
    return pull_->advance(now, may_read);
  auto went = walsender_->advance(now, may_read);
  if (const auto log_end = walsender_->identified(); went && log_end) {
    log_end_ = *log_end;
    if (!has_pulled_ && is_far_behind(*log_end, now))
      return step::leave;
    went = walsender_->advance(now, may_read);
  }
  if (went && walsender_->running())
    watch(now, may_read);
  return went;
}

block_ptr slot_stream::take_block() {
  walsender_->block_taken();
  return core_.take_block();
}

log_reading slot_stream::reading() const noexcept {
  if (pull_)
    return {log_reading::mode::catch_up, std::max(log_end_, pull_->log_end())};
  return {log_reading::mode::stream, log_end_};
}

std::optional<std::string> slot_stream::take_news() {
  if (pull_) {
    if (auto news = pull_->take_news())
      return news;
  }
  if (!use_)
    return std::nullopt;
  auto news = use_->record->take_news();
  if (news)
    *news = "cannot catch up faster than the walsender sends, the stream goes on: " + *news;
  return news;
}

void slot_stream::close() noexcept {
  probe_.reset();
  if (pull_ && has_failed_)
    pull_->abandon();
  else if (pull_)
    pull_->close();
  walsender_->close();
}

// -- going over -----------------------------------------------------------------------------------

void slot_stream::open_walsender() {
  auto request = request_;
  request.resume = core_.passed();
  walsender_ = std::make_unique<walsender_reader>(std::move(request), core_, allowed_);
  is_watched_ = false;
}

void slot_stream::change_reader() {
  if (pull_) {
    log_end_ = std::max(log_end_, pull_->log_end());
    pull_.reset();
    has_pulled_ = true;
    open_walsender();
    return;
  }
  probe_.reset();
  if (walsender_->running())
    walsender_pid_ = walsender_->backend_pid();
  walsender_->close();
  pull_ = std::make_unique<catch_up_reader>(
      catch_up_request{.to = use_->to,
                       .slot = request_.slot,
                       .publications = request_.publications,
                       .system_identifier = request_.system_identifier,
                       .walsender_pid = walsender_pid_},
      core_, use_->options, silence_, use_->record);
}

bool slot_stream::may_pull(clock::time_point now) const {
  return use_ && use_->options.threshold > 0 && use_->record->allowed(now);
}

bool slot_stream::is_far_behind(position log_end, clock::time_point now) const {
  return may_pull(now) && log_end > core_.passed() &&
         log_end.token - core_.passed().token > use_->options.threshold;
}

// -- watching a stream that runs ------------------------------------------------------------------

void slot_stream::watch(clock::time_point now, bool may_read) {
  if (!use_)
    return;
  if (!std::exchange(is_watched_, true))
    watch_.start(core_.passed(), now);
  else if (!may_read)
    watch_.idle_for(now - stepped_at_);
  stepped_at_ = now;
  if (probe_)
    return ask_how_far(now);
  if (watch_.look_due(core_.passed(), now) && may_pull(now)) {
    probe_ = std::make_unique<log_probe>(use_->to);
    ask_how_far(now);
  }
}

void slot_stream::ask_how_far(clock::time_point now) {
  const auto end = probe_->advance(now);
  if (end && !*end)
    return;
  probe_.reset();
  if (!end)
    return watch_.missed(now);
  log_end_ = std::max(log_end_, **end);
  if (watch_.falls_behind(core_.passed(), **end, now))
    walsender_->leave_at_boundary();
}

} // namespace

std::unique_ptr<log_stream> make_log_stream(stream_request request,
                                            const std::vector<relation_ptr>& known,
                                            std::shared_ptr<patience> allowed,
                                            stream_options options,
                                            std::optional<catch_up_use> catch_up) {
  if (allowed)
    options.feedback.answer_within = allowed->allowed();
  return std::make_unique<slot_stream>(std::move(request), known, std::move(allowed), options,
                                       std::move(catch_up));
}

} // namespace cdc::sources::postgres
