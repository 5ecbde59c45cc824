#pragma once

#include <string>

#include "actors/board_view.hpp"
#include "actors/flow.hpp"

namespace cdc::actors::http {

/// Every pipeline as JSON: state, load, rates, positions, lag, accounting, slots, last error. Times
/// are ISO 8601 UTC, durations seconds, positions as the source spells them.
[[nodiscard]] std::string render_status(const board_view& seen, const flow_view& flow);

/// The actors as a JSON tree: each has its `children`.
[[nodiscard]] std::string render_actors(const board_view& seen, const flow_view& flow);

} // namespace cdc::actors::http
