#pragma once

#include <string>
#include <vector>

#include "sinks/search/exchange.hpp"
#include "sinks/search/state_document.hpp"

namespace cdc::sinks::search {

/// Completes what pg2osync left: its checkpoint says where it stopped, and each index that holds
/// documents is loaded, unless a load of its stream was not finished. What it says to a person is
/// added to `notices`.
void adopt(state_document& state, exchange& with, std::vector<std::string>& notices);

} // namespace cdc::sinks::search
