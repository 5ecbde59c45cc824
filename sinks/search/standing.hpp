#pragma once

#include "sinks/standing.hpp"

namespace cdc::sinks::search {

/// The promises of sinks::read_standing() and find_obstacles(), for document targets.
[[nodiscard]] result<std::optional<standing>> read_standing(const config::target_config& target,
                                                            const stream_identity& stream);
void find_obstacles(const config::target_config& target, const config::engine_config& engine,
                    const std::vector<target_table_ptr>& tables, std::vector<remark>& out);

} // namespace cdc::sinks::search
