#pragma once

#include <functional>
#include <memory>

#include "actors/board_view.hpp"
#include "actors/http/synced.hpp"
#include "config/config.hpp"
#include "supervision/pipeline_parts.hpp"

namespace cdc::cli {

/// One pipeline's source, as the process needs it.
struct pipeline_source {
  std::function<std::shared_ptr<supervision::pipeline_parts>(bool fresh)> make_parts;
  actors::position_speller spell;
  /// Opens its connection at the first question.
  actors::http::sync_door door{};
};

/// What the configuration chooses.
[[nodiscard]] pipeline_source
make_source(const std::shared_ptr<const config::pipeline_config>& config);

} // namespace cdc::cli
