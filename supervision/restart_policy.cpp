#include "supervision/restart_policy.hpp"

#include <algorithm>

namespace cdc::supervision {

namespace {

bool is_of_target(errc code) noexcept {
  return code == errc::target_unavailable || code == errc::row_refused;
}

} // namespace

restart_policy::decision restart_policy::failed(const error& why, std::chrono::milliseconds lived) {
  const auto& limits = is_of_target(why.code) ? options_.target : options_.source;
  if (lived > options_.backoff_max)
    failures_ = 0;
  elapsed_ = failures_ == 0 ? std::chrono::milliseconds{0} : elapsed_ + lived;
  ++failures_;
  decision out{.failures = failures_, .failures_max = limits.failures_max};
  const auto reaction = reaction_to(why.code);
  out.halts = reaction == reaction::halt || reaction == reaction::quarantine ||
              failures_ > limits.failures_max ||
              (limits.elapsed_max && elapsed_ >= *limits.elapsed_max);
  if (out.halts)
    return out;
  out.delay = delay(limits);
  if (limits.elapsed_max)
    out.delay = std::min(out.delay, *limits.elapsed_max - elapsed_);
  elapsed_ += out.delay;
  return out;
}

std::chrono::milliseconds restart_policy::delay(const restart_limits& limits) {
  const auto doublings = std::min(failures_ - 1, 20u);
  const auto whole =
      std::min(options_.backoff_max, limits.backoff * (std::int64_t{1} << doublings));
  const auto part = std::uniform_int_distribution<std::int64_t>{0, whole.count() / 4}(random_);
  return whole - std::chrono::milliseconds{part};
}

} // namespace cdc::supervision
