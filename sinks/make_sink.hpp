#pragma once

#include <memory>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "sinks/sink.hpp"

namespace cdc::sinks {

/// The sink a [target] section asks for; `engine` says how much it writes at once. Touches nothing;
/// open() does.
[[nodiscard]] result<std::unique_ptr<sink>> make_sink(const config::target_config& target,
                                                      const config::engine_config& engine = {});

} // namespace cdc::sinks
