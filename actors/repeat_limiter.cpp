#include "actors/repeat_limiter.hpp"

#include <utility>

namespace cdc::log {

repeat_limiter::decision repeat_limiter::ask(std::string_view line, clock::time_point now) {
  auto found = lines_.find(std::string{line});
  if (found == lines_.end()) {
    if (lines_.size() >= lines_max_)
      forget_old(now);
    if (lines_.size() < lines_max_)
      lines_.emplace(line, memory{now, 0});
    return {};
  }
  auto& known = found->second;
  if (now - known.said < quiet_) {
    ++known.held_back;
    return {.passes = false};
  }
  known.said = now;
  return {.passes = true, .held_back = std::exchange(known.held_back, 0)};
}

std::vector<repeat_limiter::remainder> repeat_limiter::take_remainders() {
  std::vector<remainder> all;
  for (auto& [line, known] : lines_)
    if (known.held_back > 0)
      all.push_back({line, std::exchange(known.held_back, 0)});
  return all;
}

void repeat_limiter::forget_old(clock::time_point now) {
  std::erase_if(lines_, [&](const auto& entry) {
    return now - entry.second.said >= quiet_ && entry.second.held_back == 0;
  });
}

} // namespace cdc::log
