#pragma once

#include <optional>
#include <vector>

#include "sinks/standing.hpp"

namespace cdc::sinks::sqlite {

/// Of a file that exists.
[[nodiscard]] result<std::optional<standing>> read_standing(const config::target_config& target);

/// Of a file that may exist.
void find_obstacles(const config::target_config& target,
                    const std::vector<target_table_ptr>& tables, std::vector<remark>& out);

} // namespace cdc::sinks::sqlite
