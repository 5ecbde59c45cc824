#pragma once

#include <string>

#include "actors/board_view.hpp"
#include "actors/flow.hpp"

namespace cdc::actors::http {

/// The actors as a person reads them: a tree, a line each, then a line for each pipeline.
[[nodiscard]] std::string render_tree(const board_view& seen, const flow_view& flow);

} // namespace cdc::actors::http
