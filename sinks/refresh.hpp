#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::sinks {

/// Makes what was written under these names visible to searches; nothing, for a target where it
/// always is. Blocks.
[[nodiscard]] result<void> refresh(const config::target_config& target,
                                   const std::vector<std::string>& names);

} // namespace cdc::sinks
