#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cdc::actors::http {

/// A request's target, taken apart and percent-decoded.
struct target {
  std::string path; ///< Begins with a slash.
  std::vector<std::pair<std::string, std::string>> query;

  /// The first value of that name.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const noexcept;
};

/// Reads `/path?name=value&…` or the absolute form `http://host/path`. None for what cannot be one:
/// a bad percent sign, a control character (decoded or not), a path without its slash.
[[nodiscard]] std::optional<target> parse_target(std::string_view text);

} // namespace cdc::actors::http
