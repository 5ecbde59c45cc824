#include "sources/postgres/feedback.hpp"

#include <algorithm>

#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

feedback::feedback(position resume, feedback_options options) noexcept
    : options_(options), reported_(resume), durable_(resume), handed_out_(resume) {
  // nop
}

void feedback::heard(clock::time_point now) noexcept {
  heard_at_ = now;
  asked_at_.reset();
}

// What lay in the socket while nobody read it says nothing about when it was sent: the clock starts
// again with the reading.
void feedback::note_reading(clock::time_point now, bool reading) noexcept {
  if (reading && !reading_)
    heard_at_ = now;
  if (reading != reading_)
    asked_at_.reset();
  reading_ = reading;
}

result<std::optional<status_update>> feedback::due(clock::time_point now, bool reading) {
  if (!holds())
    return fail(errc::invariant_broken, "reported {} <= durable {} <= handed out {} does not hold",
                to_lsn(reported_), to_lsn(durable_), to_lsn(handed_out_));
  note_reading(now, reading);
  if (reading && asked_at_ && now - *asked_at_ >= options_.answer_within)
    return fail(errc::source_unavailable, "the server has been silent for {} ms and did not answer",
                std::chrono::duration_cast<std::chrono::milliseconds>(now - heard_at_).count());
  const auto silent = reading && !asked_at_ && now - heard_at_ >= options_.idle_max;
  const auto asks = ask_due_ || silent;
  if (!asks && !update_due_ && now - sent_at_ < options_.interval)
    return std::nullopt;
  if (asks && reading)
    asked_at_ = asked_at_.value_or(now);
  ask_due_ = update_due_ = false;
  sent_at_ = now;
  reported_ = durable_;
  return status_update{.durable = durable_, .wants_reply = asks};
}

std::optional<status_update> feedback::last_words() const noexcept {
  if (!holds() || durable_ == reported_)
    return std::nullopt;
  return status_update{.durable = durable_};
}

clock::time_point feedback::deadline() const noexcept {
  if (ask_due_ || update_due_)
    return sent_at_;
  auto at = sent_at_ + options_.interval;
  if (reading_)
    at = std::min(at,
                  asked_at_ ? *asked_at_ + options_.answer_within : heard_at_ + options_.idle_max);
  return at;
}

} // namespace cdc::sources::postgres
