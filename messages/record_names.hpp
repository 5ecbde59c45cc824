#pragma once

#include <string_view>

namespace cdc {

/// The record of this and a target's name holds the progress of its load: to_text() of
/// table_progress. A target may look at it; all other records mean nothing to it.
inline constexpr std::string_view progress_prefix = "progress/";

} // namespace cdc
