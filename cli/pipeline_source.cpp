#include "cli/pipeline_source.hpp"

#include <utility>

#include "cli/mysql_parts.hpp"
#include "cli/postgres_parts.hpp"
#include "sinks/refresh.hpp"

namespace cdc::cli {

pipeline_source make_source(const std::shared_ptr<const config::pipeline_config>& config) {
  auto out = config->source.what == config::source_config::flavor::mysql ? mysql_source(config)
                                                                         : postgres_source(config);
  out.door.name = config->source.name;
  out.door.spell = out.spell;
  out.door.refresh = [config](std::size_t sink, const std::vector<std::string>& names) {
    return sinks::refresh(config->targets[sink], names);
  };
  return out;
}

} // namespace cdc::cli
