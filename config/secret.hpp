#pragma once

#include <string>
#include <utility>

namespace cdc::config {

/// Text that must not be printed. It has no formatter and no stream operator; reveal() is the one
/// way out, and stands only where a connection is opened.
class secret {
public:
  secret() = default;
  explicit secret(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const std::string& reveal() const noexcept { return text_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

  bool operator==(const secret&) const = default;

private:
  std::string text_;
};

} // namespace cdc::config
