#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::sinks {

/// In one request that works as a whole or not at all: no other index has the alias any more, and
/// `index` has it. Says which had it before.
[[nodiscard]] result<std::vector<std::string>> switch_alias(const config::target_config& target,
                                                            const std::string& alias,
                                                            const std::string& index);

} // namespace cdc::sinks
