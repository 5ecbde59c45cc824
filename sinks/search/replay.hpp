#pragma once

#include "messages/error.hpp"
#include "sinks/rejects.hpp"
#include "sinks/search/exchange.hpp"

namespace cdc::sinks::search {

/// The promise of sinks::replay_rejects().
[[nodiscard]] result<replayed> replay(exchange& with, bool require_alias);

} // namespace cdc::sinks::search
