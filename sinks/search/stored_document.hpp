#pragma once

#include <functional>
#include <string_view>

namespace cdc::sinks::search {

/// A field of a document at the target.
struct stored_field {
  std::string_view name; ///< Without escapes.
  std::string_view json; ///< Its value, byte for byte.
};

/// Shows each field of a JSON object; what is shown is valid for the call alone. False when it is
/// no object, and then some may have been shown.
[[nodiscard]] bool for_each_field(std::string_view document,
                                  const std::function<void(const stored_field&)>& show);

} // namespace cdc::sinks::search
