#include "sinks/search/standing.hpp"

#include <utility>

#include <fmt/format.h>

#include "sinks/search/exchange.hpp"
#include "sinks/search/index_guard.hpp"
#include "sinks/search/index_shape.hpp"
#include "sinks/search/quarantine.hpp"
#include "sinks/search/search_options.hpp"
#include "sinks/search/server_version.hpp"
#include "sinks/search/state_document.hpp"
#include "sinks/search/verdict.hpp"

namespace cdc::sinks::search {

namespace {

result<void> check_server(exchange& with, const search_options& options) {
  const auto said = with.ask("GET", "/");
  if (!said)
    return tl::unexpected(said.error());
  return check_version(*said, options.is_elasticsearch,
                       config::to_string(options.over.servers.front()));
}

/// An index that is there must be able to hold the rows; one that is not must be one we may make.
result<void> check_index(exchange& with, const search_options& options, const target_table& table) {
  if (auto good = check_index_name(table.name); !good)
    return good;
  const auto said = with.ask("GET", fmt::format("/{}/_mapping", in_path(table.name)));
  if (!said)
    return tl::unexpected(said.error());
  if (options.require_alias) {
    const auto is = look_up(with, table.name);
    if (!is)
      return tl::unexpected(is.error());
    if (is->is_there && !is->is_alias)
      return fail(errc::target_misconfigured,
                  "{} is an index; with require_alias it has to be an alias of one", table.name);
  }
  if (said->status == 404 && options.require_alias)
    return fail(errc::target_misconfigured,
                "{} is not there; with require_alias it has to be made an alias of an index first",
                table.name);
  if (said->status == 404)
    return creation_body(table).map([](const std::string&) {});
  if (said->status >= 300)
    return tl::unexpected(error_of(read_error(said->status, said->body), table.name));
  return read_mapping(said->body)
      .and_then([&](const live_mapping& live) { return compare(table, live); })
      .map([](const std::vector<std::uint16_t>&) {});
}

result<void> check_pipeline(exchange& with, const std::string& name) {
  if (name.empty())
    return {};
  const auto said = with.ask("GET", "/_ingest/pipeline/" + in_path(name));
  if (!said)
    return tl::unexpected(said.error());
  if (said->status >= 300)
    return fail(errc::target_misconfigured, "there is no ingest pipeline {}", name);
  return {};
}

void look_at_quarantine(exchange& with, const search_options& options, std::vector<remark>& out) {
  const auto all = read_rejects(with);
  if (!all)
    return out.push_back({true, all.error().detail});
  if (all->empty())
    return;
  const auto used = options.quarantines
                        ? fmt::format("{} of max_rejects = {}", all->size(), options.rejects_max)
                        : fmt::format("{}", all->size());
  out.push_back({false, fmt::format("{} documents are put aside: see `cdc-actors rejects`", used)});
}

} // namespace

result<std::optional<standing>> read_standing(const config::target_config& target,
                                              const stream_identity& stream) {
  const auto over = http::make_client(options_of(target, {}).over);
  const auto said =
      exchange(*over).ask("GET", fmt::format("/{}/_doc/{}", state_index, state_id(stream)));
  if (!said)
    return tl::unexpected(said.error());
  if (said->status == 404)
    return std::nullopt;
  const auto found = read_stored(said->body);
  if (!found)
    return tl::unexpected(found.error());
  auto state = read_state(found->source);
  if (!state)
    return tl::unexpected(state.error());
  standing out;
  out.stream = state->kept.stream;
  if (state->is_foreign) {
    out.stream.server = stream.server;
    out.stream.database = stream.database;
  }
  out.state = state->kept.to_sink_state();
  out.written_at = state->written_at;
  return out;
}

void find_obstacles(const config::target_config& target, const config::engine_config& engine,
                    const std::vector<target_table_ptr>& tables, std::vector<remark>& out) {
  const auto options = options_of(target, engine);
  const auto over = http::make_client(options.over);
  exchange with(*over);
  if (const auto good = check_server(with, options); !good) {
    out.push_back({true, good.error().detail});
    return;
  }
  for (const auto& table : tables)
    if (const auto good = check_index(with, options, *table).and_then([&] {
          return check_pipeline(with, table->pipeline);
        });
        !good)
      out.push_back({true, good.error().detail});
  look_at_quarantine(with, options, out);
}

} // namespace cdc::sinks::search
