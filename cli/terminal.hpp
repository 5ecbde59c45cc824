#pragma once

#include <cstdio>
#include <string_view>

namespace cdc::cli {

/// Writes text that may have names and words of others in it: nothing of it steers a terminal.
void say(std::FILE* to, std::string_view text);

} // namespace cdc::cli
