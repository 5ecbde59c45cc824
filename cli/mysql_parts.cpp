#include "cli/mysql_parts.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

#include "sinks/make_sink.hpp"
#include "sources/mysql/log_end.hpp"
#include "sources/mysql/log_stream.hpp"
#include "sources/mysql/setup.hpp"
#include "sources/mysql/stop_signal.hpp"
#include "sources/mysql/table_reader.hpp"

namespace cdc::cli {

namespace {

namespace mysql = sources::mysql;

class mysql_parts final : public supervision::pipeline_parts {
public:
  mysql_parts(std::shared_ptr<const config::pipeline_config> config,
              std::shared_ptr<mysql::spoken_places> places)
      : config_(std::move(config)), places_(std::move(places)) {}

  result<stream_identity> identify() override { return mysql::identify(config_->source, stop_); }

  result<std::unique_ptr<sinks::sink>> make_sink(std::size_t target) override {
    return sinks::make_sink(config_->targets[target], config_->engine);
  }

  result<supervision::ready_source>
  prepare_source(const std::vector<std::optional<position>>& resumes) override {
    auto prepared = mysql::prepare_source(
        {.source = config_->source, .sections = config_->syncs, .resumes = resumes, .stop = stop_});
    if (!prepared)
      return tl::unexpected(prepared.error());
    prepared_ = std::move(*prepared);
    places_->set(prepared_.at);
    supervision::ready_source out;
    for (const auto& table : prepared_.tables)
      out.tables.push_back({table.shape, table.section});
    out.start = prepared_.start;
    out.log_end = prepared_.start;
    out.log_name = "binlog";
    out.under_pressure = "the server is about to purge log that is still needed";
    out.unproved = prepared_.unproved;
    out.notes = prepared_.notes;
    return out;
  }

  result<std::unique_ptr<sources::log_stream>> make_stream(position from) override {
    auto to = mysql::endpoint::make(config_->source, "stream");
    if (!to)
      return tl::unexpected(to.error());
    std::vector<relation_ptr> known;
    for (const auto& table : prepared_.tables)
      known.push_back(table.shape);
    *needed_ = from.token;
    auto takes = [config = config_](const table_id& table) {
      return mysql::section_of(config->syncs, table).has_value();
    };
    return mysql::make_log_stream(
        {.to = std::move(*to),
         .server_id = config_->source.server_id,
         .from = {.at = prepared_.at, .resume = from, .takes = std::move(takes)},
         .needed = needed_},
        known);
  }

  std::unique_ptr<sources::table_reader> make_reader(const std::string& role) override {
    mysql::reader_options options;
    options.role = role;
    options.at = prepared_.at;
    options.needed = needed_;
    return mysql::make_table_reader(config_->source, std::move(options));
  }

  void cancel() noexcept override { stop_->raise(); }

private:
  std::shared_ptr<const config::pipeline_config> config_;
  std::shared_ptr<mysql::spoken_places> places_;
  /// From where on the log is still needed.
  std::shared_ptr<std::atomic<std::uint64_t>> needed_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<mysql::stop_signal> stop_ = std::make_shared<mysql::stop_signal>();
  mysql::prepared_source prepared_;
};

} // namespace

pipeline_source mysql_source(const std::shared_ptr<const config::pipeline_config>& config) {
  pipeline_source out;
  auto places = std::make_shared<mysql::spoken_places>();
  out.make_parts = [config, places](bool) { return std::make_shared<mysql_parts>(config, places); };
  out.spell = [places](position at) { return places->spell(at); };
  auto log = std::make_shared<mysql::log_end>(config->source, places);
  out.door.parse = [places](std::string_view text) -> std::optional<position> {
    const auto at = places->read(text);
    return at ? std::optional{*at} : std::nullopt;
  };
  out.door.current = [log] { return log->ask(); };
  // An idle server says by its heartbeats that there is no more.
  out.door.nudge = [] { return result<void>{}; };
  return out;
}

} // namespace cdc::cli
