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

} // namespace cdc::cli
