#include "sinks/make_sink.hpp"

#include "sinks/null/null_sink.hpp"
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

} // namespace

result<std::unique_ptr<sink>> make_sink(const config::target_config& target) {
  switch (target.what) {
    case config::target_config::flavor::sqlite:
      return make_sqlite(target);
    case config::target_config::flavor::null:
      return std::make_unique<null::null_sink>(target.name);
    case config::target_config::flavor::ndjson:
      break;
  }
  return fail(errc::invalid_config, "target {} has a flavor that this build lacks", target.name);
}

} // namespace cdc::sinks
