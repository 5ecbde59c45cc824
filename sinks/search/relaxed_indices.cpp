#include "sinks/search/relaxed_indices.hpp"

#include <simdjson.h>

#include "messages/json.hpp"
#include "messages/load.hpp"
#include "messages/record_names.hpp"

namespace cdc::sinks::search {

namespace {

void write_setting(json::writer& to, std::string_view name, const std::optional<std::string>& was) {
  to.key(name);
  if (was)
    to.value(*was);
  else
    to.null();
}

bool is_finished(std::string_view progress) {
  const auto read = parse_progress(progress);
  return read && read->finished();
}

} // namespace

std::string_view relaxing_body() noexcept {
  return R"({"index":{"refresh_interval":"-1","number_of_replicas":"0"}})";
}

std::string restoring_body(const index_settings& were) {
  std::string out;
  json::writer to{out};
  to.begin_object().key("index").begin_object();
  write_setting(to, "refresh_interval", were.refresh_interval);
  write_setting(to, "number_of_replicas", were.replicas);
  to.end_object().end_object();
  return out;
}

result<index_settings> read_settings(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object indices;
  if (parser.parse(body).get(indices) != simdjson::SUCCESS || indices.begin() == indices.end())
    return fail(errc::malformed_message,
                "the target's answer about an index is not what it should be");
  const auto settings = simdjson::dom::element((*indices.begin()).value)["settings"];
  index_settings out;
  std::string_view text;
  if (settings["index.refresh_interval"].get(text) == simdjson::SUCCESS && text != "-1")
    out.refresh_interval = text;
  if (settings["index.number_of_replicas"].get(text) == simdjson::SUCCESS)
    out.replicas = text;
  return out;
}

std::string_view finished_table(const record& what) {
  const std::string_view name{what.name};
  if (!name.starts_with(progress_prefix) || !what.value || !is_finished(*what.value))
    return {};
  return name.substr(progress_prefix.size());
}

bool is_loaded(const kept_state& state, std::string_view table) {
  const auto found = state.records.find(std::string{progress_prefix}.append(table));
  return found != state.records.end() && is_finished(found->second);
}

} // namespace cdc::sinks::search
