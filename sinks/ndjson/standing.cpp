#include "sinks/ndjson/standing.hpp"

#include <filesystem>

#include "sinks/ndjson/checkpoint_file.hpp"

namespace cdc::sinks::ndjson {

result<std::optional<standing>> read_standing(const config::target_config& target) {
  std::error_code ignored;
  const auto file = std::filesystem::weakly_canonical(target.path, ignored);
  auto stored = checkpoint_file(file).read();
  if (!stored)
    return tl::unexpected(std::move(stored).error());
  if (!*stored)
    return std::nullopt;
  standing out;
  out.stream = (*stored)->kept.stream;
  out.state = (*stored)->kept.to_sink_state();
  out.written_at = (*stored)->written_at;
  return out;
}

} // namespace cdc::sinks::ndjson
