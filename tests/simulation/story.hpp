#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace cdc::simulation {

/// What happened in one history, in lines a person reads. Most histories are never told: say()
/// costs nothing then, and what is dear to describe asks told() first.
class story {
public:
  void tell() { is_told_ = true; }
  [[nodiscard]] bool told() const noexcept { return is_told_; }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    if (is_told_)
      lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

private:
  bool is_told_ = false;
  std::vector<std::string> lines_;
};

} // namespace cdc::simulation
