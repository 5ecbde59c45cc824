#include "cli/sync_doors.hpp"

#include <utility>

#include "sinks/refresh.hpp"
#include "sources/postgres/log_end.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::cli {

actors::http::sync_door sync_door_of(const std::shared_ptr<const config::pipeline_config>& config) {
  namespace postgres = sources::postgres;
  auto log = std::make_shared<postgres::log_end>(config->source);
  actors::http::sync_door out;
  out.name = config->source.name;
  out.parse = [](std::string_view text) -> std::optional<position> {
    const auto at = postgres::parse_lsn(text);
    return at ? std::optional{*at} : std::nullopt;
  };
  out.spell = [](position at) { return postgres::to_lsn(at); };
  out.current = [log] { return log->ask(); };
  out.nudge = [log] { return log->move_on(); };
  out.refresh = [config](std::size_t sink, const std::vector<std::string>& names) {
    return sinks::refresh(config->targets[sink], names);
  };
  return out;
}

} // namespace cdc::cli
