#include "sinks/search/takeover.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <simdjson.h>

#include "messages/load.hpp"
#include "messages/record_names.hpp"
#include "sinks/search/index_guard.hpp"

namespace cdc::sinks::search {

namespace {

namespace json = simdjson::dom;

/// Whether pg2osync was still loading: it removes its progress once a whole load has ended.
result<bool> is_unfinished(const stream_identity& stream, exchange& with) {
  const auto refreshed = with.demand("POST", fmt::format("/{}/_refresh", state_index));
  if (!refreshed)
    return tl::unexpected(refreshed.error());
  const auto said = with.demand("POST", fmt::format("/{}/_search", state_index),
                                R"({"size":10000,"_source":false})");
  if (!said)
    return tl::unexpected(said.error());
  json::parser parser;
  json::array hits;
  if (parser.parse(said->body)["hits"]["hits"].get(hits) != simdjson::SUCCESS)
    return fail(errc::malformed_message,
                "the target's answer to a search is not what it should be");
  const auto prefix = fmt::format("load-{}-", state_id(stream));
  for (const auto hit : hits) {
    std::string_view id;
    if (hit["_id"].get(id) == simdjson::SUCCESS && id.starts_with(prefix))
      return true;
  }
  return false;
}

/// The names, of indices and of aliases, under which there are documents.
result<std::vector<std::string>> loaded_names(exchange& with) {
  const auto indices = with.demand("GET", "/_cat/indices?format=json&h=index,docs.count");
  if (!indices)
    return tl::unexpected(indices.error());
  const auto aliases = with.demand("GET", "/_cat/aliases?format=json&h=alias,index");
  if (!aliases)
    return tl::unexpected(aliases.error());
  std::vector<std::string> out;
  json::parser parser;
  json::array rows;
  if (parser.parse(indices->body).get(rows) != simdjson::SUCCESS)
    return fail(errc::malformed_message, "the target's list of indices is not what it should be");
  for (const auto row : rows) {
    std::string_view name;
    std::string_view count;
    if (row["index"].get(name) == simdjson::SUCCESS &&
        row["docs.count"].get(count) == simdjson::SUCCESS && count != "0")
      out.emplace_back(name);
  }
  const auto full = out;
  if (parser.parse(aliases->body).get(rows) != simdjson::SUCCESS)
    return fail(errc::malformed_message, "the target's list of aliases is not what it should be");
  for (const auto row : rows) {
    std::string_view alias;
    std::string_view index;
    if (row["alias"].get(alias) == simdjson::SUCCESS && !is_guard(alias) &&
        row["index"].get(index) == simdjson::SUCCESS &&
        std::ranges::find(full, index) != full.end())
      out.emplace_back(alias);
  }
  return out;
}

std::string finished_progress() {
  table_progress whole;
  whole.plan.ranges.emplace_back();
  whole.done.push_back(true);
  return to_text(whole);
}

} // namespace

void adopt(state_document& state, exchange& with, std::vector<std::string>& notices) {
  const auto loads_anew = [&](std::string_view why) {
    notices.push_back(
        fmt::format("the checkpoint is pg2osync's, and {}: the tables are loaded anew", why));
  };
  const auto unfinished = is_unfinished(state.kept.stream, with);
  if (!unfinished)
    return loads_anew(unfinished.error().detail);
  if (*unfinished)
    return loads_anew("a load of it was not finished");
  const auto names = loaded_names(with);
  if (!names)
    return loads_anew(names.error().detail);
  for (const auto& name : *names)
    state.kept.records.emplace(std::string{progress_prefix} + name, finished_progress());
  notices.push_back(
      "the checkpoint is pg2osync's: going on from where it stopped, with the indices "
      "that hold documents taken as loaded");
}

} // namespace cdc::sinks::search
