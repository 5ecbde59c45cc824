#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/target_table.hpp"

namespace cdc::sinks {

/// What a target keeps of the stream that writes it.
struct standing {
  stream_identity stream;
  sink_state state;            ///< Its epoch is that of the last life.
  std::int64_t written_at = 0; ///< Microseconds since 1970-01-01 UTC.
};

/// Reads it while another process may be writing; takes no lock that a writer could feel. None:
/// nothing was written yet, or the target keeps nothing. `stream` names the one that is asked for,
/// since a target may hold the state of several: source and stream of its identity are looked at.
[[nodiscard]] result<std::optional<standing>> read_standing(const config::target_config& target,
                                                            const stream_identity& stream);

/// Whether the target keeps a checkpoint that read_standing() can read.
[[nodiscard]] bool keeps_checkpoint(const config::target_config& target) noexcept;

/// What a look at a target finds about one thing.
struct remark {
  bool is_obstacle = false; ///< Otherwise it runs, but someone should know.
  std::string text;
};

/// What would keep these tables from being written, found without touching anything.
[[nodiscard]] std::vector<remark> find_obstacles(const config::target_config& target,
                                                 const config::engine_config& engine,
                                                 const std::vector<target_table_ptr>& tables);

} // namespace cdc::sinks
