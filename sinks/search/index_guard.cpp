#include "sinks/search/index_guard.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include "messages/json.hpp"
#include "sinks/search/verdict.hpp"

namespace cdc::sinks::search {

namespace {

constexpr std::string_view suffix = ".CDC";

} // namespace

std::string guard_of(std::string_view index) {
  return fmt::format("{}{}", index, suffix);
}

bool is_guard(std::string_view name) noexcept {
  return name.ends_with(suffix);
}

result<named> read_named(std::string_view body, std::string_view name) {
  simdjson::dom::parser parser;
  simdjson::dom::object indices;
  if (parser.parse(body).get(indices) != simdjson::SUCCESS)
    return fail(errc::malformed_message, "the target's answer about an alias is no JSON");
  named out;
  out.is_there = out.is_alias = indices.size() > 0;
  for (const auto& [index, how] : indices) {
    if (index != name)
      continue;
    out.is_alias = false;
    simdjson::dom::element guard;
    out.is_guarded = how["aliases"][guard_of(name)].get(guard) == simdjson::SUCCESS;
  }
  return out;
}

result<named> look_up(exchange& with, const std::string& name) {
  const auto said = with.ask("GET", fmt::format("/{}/_alias", in_path(name)));
  if (!said)
    return tl::unexpected(said.error());
  if (said->status == 404)
    return named{};
  if (said->status >= 300)
    return tl::unexpected(error_of(read_error(said->status, said->body), "index " + name));
  return read_named(said->body, name);
}

result<std::vector<std::string>> holders_of(exchange& with, const std::string& alias) {
  const auto said = with.demand("GET", fmt::format("/{}/_alias", in_path(alias)));
  if (!said)
    return tl::unexpected(said.error());
  simdjson::dom::parser parser;
  simdjson::dom::object indices;
  if (parser.parse(said->body).get(indices) != simdjson::SUCCESS)
    return fail(errc::malformed_message, "the target's answer about an alias is no JSON");
  std::vector<std::string> out;
  for (const auto& [index, how] : indices)
    out.emplace_back(index);
  return out;
}

result<bool> set_guard(exchange& with, const std::string& index) {
  std::string body;
  json::writer to{body};
  to.begin_object().key("actions").begin_array().begin_object().key("add").begin_object();
  to.member("index", index).member("alias", guard_of(index));
  to.end_object().end_object().end_array().end_object();
  const auto said = with.ask("POST", "/_aliases", std::move(body));
  if (!said && said.error().code == errc::permission_denied)
    return false;
  if (!said)
    return tl::unexpected(said.error());
  if (said->status >= 300)
    return tl::unexpected(error_of(read_error(said->status, said->body), "index " + index));
  return true;
}

} // namespace cdc::sinks::search
