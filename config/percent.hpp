#pragma once

#include <string>
#include <string_view>

namespace cdc::config {

/// `%40` is `@`. A broken escape stays as it is.
[[nodiscard]] std::string percent_decoded(std::string_view text);

} // namespace cdc::config
