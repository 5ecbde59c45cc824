#include "sources/postgres/catch_up_plan.hpp"

#include <algorithm>
#include <utility>

namespace cdc::sources::postgres {

namespace {

constexpr std::uint32_t rows_max = 4'000'000;
// What would be gone by itself within this long is not worth a change.
constexpr std::chrono::seconds soon{10};
// The log that has to have gone by before anybody asks how far it goes.
constexpr std::uint64_t worth_a_look_max = std::uint64_t{4} << 20;

} // namespace

// -- how much -------------------------------------------------------------------------------------

void call_size::learn(const call& done) noexcept {
  if (done.rows == 0)
    return;
  // A short call says nothing about the next one's time, but its rows are as wide as others.
  const auto was_full = done.rows >= next_;
  const auto width = std::max<std::uint64_t>(done.bytes / done.rows, 1);
  std::uint64_t wanted = next_;
  if (was_full && done.until_first > done.rest)
    wanted *= 2;
  wanted = std::min({wanted, bytes_max_ / width, std::uint64_t{rows_max}});
  next_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(wanted, least_));
}

// -- when -----------------------------------------------------------------------------------------

void backlog_watch::start(position passed, clock::time_point now) noexcept {
  looked_at_ = now;
  passed_then_ = passed;
  idle_ = {};
  behind_then_.reset();
  interval_ = shortest_;
}

bool backlog_watch::look_due(position passed, clock::time_point now) const noexcept {
  if (threshold_ == 0 || now - looked_at_ < interval_)
    return false;
  return passed.token - passed_then_.token >= std::min(threshold_, worth_a_look_max);
}

bool backlog_watch::falls_behind(position passed, position log_end,
                                 clock::time_point now) noexcept {
  const auto behind = log_end > passed ? log_end.token - passed.token : 0;
  const auto time = now - looked_at_;
  const auto was_idle = idle_ > time / 2;
  const auto before = std::exchange(behind_then_, std::nullopt);
  looked_at_ = now;
  passed_then_ = passed;
  idle_ = {};
  if (behind <= threshold_ || was_idle) {
    wait_longer();
    return false;
  }
  interval_ = shortest_;
  behind_then_ = behind;
  if (!before)
    return false;
  // By what it shrank since, how much would it shrink in a while?
  const auto shrank = *before > behind ? static_cast<double>(*before - behind) : 0.0;
  const auto seconds = std::chrono::duration<double>(time).count();
  const auto in_a_while =
      seconds > 0 ? shrank / seconds * std::chrono::duration<double>(soon).count() : 0.0;
  return in_a_while < static_cast<double>(behind);
}

void backlog_watch::missed(clock::time_point now) noexcept {
  looked_at_ = now;
  wait_longer();
}

bool pull_watch::is_futile(const backlog& before, const backlog& after) noexcept {
  const auto again =
      before.passed > before.restart ? before.passed.token - before.restart.token : 0;
  const auto gained = after.passed > before.passed ? after.passed.token - before.passed.token : 0;
  futile_ = again > reread_least && again / reread_max > gained ? futile_ + 1 : 0;
  return futile_ >= calls_max;
}

// -- whether --------------------------------------------------------------------------------------

bool catch_up_record::allowed(clock::time_point now) const {
  const std::lock_guard hold{guard_};
  return !not_before_ || now >= *not_before_;
}

void catch_up_record::failed(because kind, std::string why, clock::time_point now) {
  const std::lock_guard hold{guard_};
  if (kind == because::lost && ++losses_ < losses_max)
    return;
  losses_ = 0;
  why_ = std::move(why);
  if (kind == because::refused) {
    not_before_ = clock::time_point::max();
  } else {
    not_before_ = now + pause_;
    pause_ = std::min<clock::duration>(pause_ * 2, pause_max);
  }
  has_news_ = why_ != told_;
}

void catch_up_record::succeeded() {
  const std::lock_guard hold{guard_};
  losses_ = 0;
}

std::string catch_up_record::reason(clock::time_point now) const {
  const std::lock_guard hold{guard_};
  return not_before_ && now < *not_before_ ? why_ : std::string{};
}

std::optional<std::string> catch_up_record::take_news() {
  const std::lock_guard hold{guard_};
  if (!std::exchange(has_news_, false))
    return std::nullopt;
  told_ = why_;
  return why_;
}

catch_up_record::because reason_of(std::string_view sqlstate) noexcept {
  using because = catch_up_record::because;
  if (sqlstate.empty() || sqlstate.starts_with("08") || sqlstate.starts_with("57P"))
    return because::lost;
  // 42704, 42710: a slot that is not there, or is; a pooler looks like this, too.
  const auto is_about_slots = sqlstate == "42704" || sqlstate == "42710";
  if ((sqlstate.starts_with("42") && !is_about_slots) || sqlstate.starts_with("0A") ||
      sqlstate.starts_with("22"))
    return because::refused;
  return because::limited;
}

std::string copy_name(const std::string& slot) {
  constexpr std::string_view suffix = "_catch_up";
  constexpr std::size_t size_max = 63;
  return slot.substr(0, size_max - suffix.size()) + std::string{suffix};
}

} // namespace cdc::sources::postgres
