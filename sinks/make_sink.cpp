#include "sinks/make_sink.hpp"

#include "sinks/ndjson/ndjson_target.hpp"
#include "sinks/ndjson/standard_output_target.hpp"
#include "sinks/null/null_sink.hpp"
#include "sinks/search/search_options.hpp"
#include "sinks/search/search_sink.hpp"
#include "sinks/sqlite/sqlite_target.hpp"
#include "sinks/threaded_sink.hpp"

namespace cdc::sinks {

namespace {

std::unique_ptr<sink> make_sqlite(const config::target_config& target) {
  sqlite::sqlite_options options;
  options.path = target.path;
  options.schema.numeric_as_number = target.numeric_as_number;
  options.schema.add_columns = target.add_columns;
  return std::make_unique<threaded_sink>(
      std::make_unique<sqlite::sqlite_target>(std::move(options)));
}

std::unique_ptr<sink> make_ndjson(const config::target_config& target) {
  if (target.path == "-")
    return std::make_unique<threaded_sink>(
        std::make_unique<ndjson::standard_output_target>(target.name));
  return std::make_unique<threaded_sink>(std::make_unique<ndjson::ndjson_target>(
      ndjson::ndjson_options{target.path, target.rotate_bytes}));
}

} // namespace

result<std::unique_ptr<sink>> make_sink(const config::target_config& target,
                                        const config::engine_config& engine) {
  switch (target.what) {
    case config::target_config::flavor::sqlite:
      return make_sqlite(target);
    case config::target_config::flavor::null:
      return std::make_unique<null::null_sink>(target.name);
    case config::target_config::flavor::ndjson:
      return make_ndjson(target);
    case config::target_config::flavor::opensearch:
    case config::target_config::flavor::elasticsearch:
      return std::make_unique<search::search_sink>(search::options_of(target, engine));
  }
  return fail(errc::invalid_config, "target {} has a flavor that this build lacks", target.name);
}

} // namespace cdc::sinks
