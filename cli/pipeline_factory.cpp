#include "cli/pipeline_factory.hpp"

#include <utility>

#include "cli/mysql_parts.hpp"
#include "cli/postgres_parts.hpp"

namespace cdc::cli {

std::function<std::shared_ptr<supervision::pipeline_parts>(bool fresh)>
pipeline_factory(std::shared_ptr<const config::pipeline_config> config) {
  switch (config->source.what) {
    case config::source_config::flavor::mysql:
      return mysql_factory(std::move(config));
    case config::source_config::flavor::postgres:
      break;
  }
  return postgres_factory(std::move(config));
}

} // namespace cdc::cli
