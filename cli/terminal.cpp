#include "cli/terminal.hpp"

#include "actors/figures.hpp"

namespace cdc::cli {

void say(std::FILE* to, std::string_view text) {
  const auto harmless = actors::printable(text);
  std::fwrite(harmless.data(), 1, harmless.size(), to);
}

} // namespace cdc::cli
