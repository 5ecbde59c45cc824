#pragma once

#include <string>

#include "actors/board_view.hpp"

namespace cdc::actors {

/// The content type of what render_metrics() writes.
inline constexpr const char* metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// The board in Prometheus' text format: each family once, its series together, always in the same
/// order. Every series carries `source`, the pipeline's name; what belongs to a sink, `sink`.
[[nodiscard]] std::string render_metrics(const board_view& seen);

} // namespace cdc::actors
