#include "cli/postgres_parts.hpp"

#include <utility>

#include "actors/log.hpp"
#include "sinks/make_sink.hpp"
#include "sources/postgres/conninfo.hpp"
#include "sources/postgres/log_end.hpp"
#include "sources/postgres/log_stream.hpp"
#include "sources/postgres/lsn.hpp"
#include "sources/postgres/setup.hpp"
#include "sources/postgres/table_reader.hpp"

namespace cdc::cli {

namespace {

namespace postgres = sources::postgres;

/// PostgreSQL to the configured targets.
class postgres_parts final : public supervision::pipeline_parts {
public:
  postgres_parts(std::shared_ptr<const config::pipeline_config> config,
                 std::shared_ptr<postgres::patience> allowed,
                 std::shared_ptr<postgres::catch_up_record> caught_up, bool fresh)
      : config_(std::move(config)), allowed_(std::move(allowed)), caught_up_(std::move(caught_up)),
        fresh_(fresh) {}

  result<stream_identity> identify() override { return postgres::identify(config_->source, stop_); }

  result<std::unique_ptr<sinks::sink>> make_sink(std::size_t target) override {
    return sinks::make_sink(config_->targets[target], config_->engine);
  }

  result<supervision::ready_source>
  prepare_source(const std::vector<std::optional<position>>& resumes) override {
    const auto waiting = [voice =
                              log::voice{config_->source.name}](const postgres::slot_wait& wait) {
      voice.warn("source.slot_waits", "{}", postgres::to_string(wait));
    };
    auto prepared = postgres::prepare_source({.source = config_->source,
                                              .sections = config_->syncs,
                                              .resumes = resumes,
                                              .fresh = fresh_,
                                              .waiting = waiting,
                                              .stop = stop_});
    if (!prepared)
      return tl::unexpected(prepared.error());
    const auto end = postgres::log_end{config_->source, stop_}.ask();
    if (!end)
      return tl::unexpected(end.error());
    prepared_ = std::move(*prepared);
    supervision::ready_source out;
    for (const auto& table : prepared_.tables)
      out.tables.push_back({table.shape, table.section, table.published_by});
    out.start = prepared_.start;
    out.log_end = *end;
    out.log_name = config_->source.slot_name;
    out.under_pressure = "the source's log holds back more than max_wal_size";
    out.unproved = prepared_.unproved;
    out.notes = prepared_.notes;
    return out;
  }

  result<std::unique_ptr<sources::log_stream>> make_stream(position from) override {
    auto to = postgres::conninfo::make(config_->source, postgres::purpose::replication, "stream");
    if (!to)
      return tl::unexpected(to.error());
    auto pull = postgres::conninfo::make(config_->source, postgres::purpose::query, "catch up");
    if (!pull)
      return tl::unexpected(pull.error());
    postgres::catch_up_use use{.to = std::move(*pull), .options = {}, .record = caught_up_};
    use.options.threshold = config_->source.catch_up_bytes;
    std::vector<relation_ptr> known;
    for (const auto& table : prepared_.tables)
      known.push_back(table.shape);
    return postgres::make_log_stream({.to = std::move(*to),
                                      .slot = config_->source.slot_name,
                                      .publications = prepared_.publications,
                                      .resume = from,
                                      .system_identifier = prepared_.identity.server},
                                     known, allowed_, {}, std::move(use));
  }

  std::unique_ptr<sources::table_reader> make_reader(const std::string& role) override {
    postgres::reader_options options;
    options.role = role;
    options.slot = config_->source.slot_name;
    options.publications = prepared_.publications;
    return postgres::make_table_reader(config_->source, std::move(options));
  }

  void cancel() noexcept override { stop_->raise(); }

private:
  std::shared_ptr<const config::pipeline_config> config_;
  std::shared_ptr<postgres::patience> allowed_;
  std::shared_ptr<postgres::catch_up_record> caught_up_;
  bool fresh_;
  std::shared_ptr<postgres::stop_signal> stop_ = std::make_shared<postgres::stop_signal>();
  postgres::prepared_source prepared_;
};

} // namespace

pipeline_source postgres_source(const std::shared_ptr<const config::pipeline_config>& config) {
  pipeline_source out;
  out.make_parts = [config, allowed = std::make_shared<postgres::patience>(),
                    caught_up = std::make_shared<postgres::catch_up_record>()](bool fresh) {
    return std::make_shared<postgres_parts>(config, allowed, caught_up, fresh);
  };
  out.spell = [](position at) { return postgres::to_lsn(at); };
  auto log = std::make_shared<postgres::log_end>(config->source);
  out.door.parse = [](std::string_view text) -> std::optional<position> {
    const auto at = postgres::parse_lsn(text);
    return at ? std::optional{*at} : std::nullopt;
  };
  out.door.current = [log] { return log->ask(); };
  out.door.nudge = [log] { return log->move_on(); };
  return out;
}

} // namespace cdc::cli
