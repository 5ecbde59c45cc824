#include "cli/selection.hpp"

namespace cdc::cli {

result<std::vector<config::pipeline_config>> read_selection(const selection& from) {
  if (!from.folder)
    return config::read_all(from.files);
  const auto files = config::files_in(*from.folder);
  if (!files)
    return tl::unexpected(files.error());
  return config::read_all(*files);
}

result<void> require_postgres(std::span<const config::pipeline_config> pipelines,
                              std::string_view what) {
  for (const auto& each : pipelines)
    if (each.source.what != config::source_config::flavor::postgres)
      return fail(errc::invalid_config, "{}: {} is for a PostgreSQL source; this one is mysql",
                  each.file, what);
  return {};
}

} // namespace cdc::cli
