#include "sources/postgres/silence_watch.hpp"

#include <utility>

namespace cdc::sources::postgres {

namespace {

using namespace std::chrono_literals;

constexpr auto long_silence = 100ms;
// A question under way is looked after this often: the owner polls one socket alone.
constexpr auto probe_step = 10ms;

} // namespace

void silence_watch::step(clock::time_point now) noexcept {
  stepped_at_ = now;
  listened_ = std::exchange(listens_, false);
}

void silence_watch::heard(clock::time_point now) noexcept {
  heard_at_ = now;
  probe_.reset();
}

result<void> silence_watch::listen(clock::time_point now) {
  // What lay in the socket while nobody read it says nothing of when it was sent.
  if (!listened_)
    heard(now);
  listens_ = listened_ = true;
  if (!probe_) {
    if (now - heard_at_ < silence_.idle_max)
      return {};
    probe_ = std::make_unique<log_probe>(to_);
    probed_at_ = now;
  }
  if (const auto end = probe_->advance(now); !end || *end) {
    heard(now);
    return {};
  }
  if (now - probed_at_ < silence_.answer_within)
    return {};
  is_dead_ = true;
  return fail(errc::source_unavailable,
              "{}: the server has been silent for {} ms and did not answer", to_.describe(),
              std::chrono::duration_cast<std::chrono::milliseconds>(now - heard_at_).count());
}

bool silence_watch::is_long(clock::time_point now) const noexcept {
  return now - heard_at_ >= long_silence;
}

clock::time_point silence_watch::deadline() const noexcept {
  return probe_ ? stepped_at_ + probe_step : heard_at_ + silence_.idle_max;
}

} // namespace cdc::sources::postgres
