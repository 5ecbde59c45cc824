#include "actors/http/route.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "actors/http/dashboard.hpp"
#include "actors/http/status.hpp"
#include "actors/http/target.hpp"
#include "actors/http/tree.hpp"
#include "actors/metrics.hpp"

namespace cdc::actors::http {

namespace {

constexpr std::string_view json_type = "application/json";

response text(unsigned status, std::string words) {
  return {.status = status, .body = std::move(words) + "\n"};
}

bool is_alive(pipeline_state state) noexcept {
  return state != pipeline_state::halted && state != pipeline_state::stopped;
}

bool is_ready(const pipeline_view& of) noexcept {
  return of.state == pipeline_state::streaming || (of.load_finished && is_alive(of.state));
}

// -- the routes
// -------------------------------------------------------------------------------------

response healthz(const target&, look&) {
  return text(200, "ok");
}

response pipeline_health(std::string_view name, look& at) {
  const auto& pipelines = at.board().pipelines;
  std::string known;
  for (const auto& one : pipelines) {
    if (one.name == name)
      return text(is_alive(one.state) ? 200 : 503, std::string{to_string(one.state)});
    known += known.empty() ? "" : ", ";
    known += one.name;
  }
  return text(404, known.empty() ? "there is no pipeline yet"
                                 : fmt::format("there is no such pipeline; known: {}", known));
}

response readyz(const target&, look& at) {
  const auto& pipelines = at.board().pipelines;
  if (pipelines.empty())
    return text(503, "there is no pipeline yet");
  std::string waits;
  for (const auto& one : pipelines)
    if (!is_ready(one))
      waits += fmt::format("{}{} is {}", waits.empty() ? "" : "; ", one.name, to_string(one.state));
  return waits.empty() ? text(200, "ready") : text(503, waits);
}

response metrics(const target&, look& at) {
  return {.content_type = metrics_content_type, .body = render_metrics(at.board())};
}

response status(const target&, look& at) {
  return {.content_type = json_type, .body = render_status(at.board(), at.flow())};
}

response actors(const target& asked, look& at) {
  const auto format = asked.parameter("format").value_or("json");
  if (format == "text")
    return {.body = render_tree(at.board(), at.flow())};
  if (format != "json")
    return text(400, "format is json or text");
  return {.content_type = json_type, .body = render_actors(at.board(), at.flow())};
}

response page(const target&, look&) {
  return {.content_type = "text/html; charset=utf-8", .body = std::string{dashboard_page()}};
}

struct route {
  std::string_view path;
  bool is_open; ///< Answered without a token.
  response (*answer)(const target&, look&);
};

constexpr std::array<route, 6> routes{{
    {"/", true, page},
    {"/healthz", true, healthz},
    {"/readyz", false, readyz},
    {"/metrics", false, metrics},
    {"/status", false, status},
    {"/actors", false, actors},
}};

constexpr std::string_view pipeline_health_prefix = "/healthz/";

bool has_token(std::string_view authorization, std::string_view token) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() < scheme.size())
    return false;
  const auto is_bearer =
      std::equal(scheme.begin(), scheme.end(), authorization.begin(), [](char wanted, char given) {
        return wanted == std::tolower(static_cast<unsigned char>(given));
      });
  authorization.remove_prefix(scheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return is_bearer && is_same_secret(authorization, token);
}

} // namespace

bool is_same_secret(std::string_view given, std::string_view wanted) noexcept {
  // Every byte given is looked at, whatever came before it; the length of `wanted` shows in
  // nothing.
  auto difference = static_cast<unsigned char>(given.size() == wanted.size() ? 0 : 1);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto other = wanted.empty() ? '\0' : wanted[i % wanted.size()];
    difference = static_cast<unsigned char>(difference | (given[i] ^ other));
  }
  return difference == 0;
}

std::optional<response> refusal_of(const request& asked, std::string_view token) {
  if (asked.method != "GET") {
    // A response to HEAD ends with its header.
    auto refused =
        asked.method == "HEAD" ? response{.status = 405} : text(405, "only GET is answered");
    refused.allow = "GET";
    return refused;
  }
  if (asked.has_body)
    return text(413, "a GET has no body");
  if (!token.empty() && !has_token(asked.authorization, token)) {
    auto refused = text(401, "a bearer token is needed");
    refused.wants_token = true;
    return refused;
  }
  return std::nullopt;
}

response respond(const request& asked, look& at, std::string_view token) {
  const auto parsed = parse_target(asked.target);
  if (!parsed)
    return text(400, "this is not a request target");
  const auto* const found = std::find_if(
      routes.begin(), routes.end(), [&](const route& one) { return one.path == parsed->path; });
  const auto is_pipeline = parsed->path.starts_with(pipeline_health_prefix) &&
                           parsed->path.size() > pipeline_health_prefix.size();
  if (found == routes.end() && !is_pipeline)
    return text(404, "there is nothing here; try /status, /actors, /metrics, /healthz or /readyz");
  const auto is_open = !is_pipeline && found->is_open;
  if (auto refused = refusal_of(asked, is_open ? std::string_view{} : token))
    return std::move(*refused);
  if (is_pipeline)
    return pipeline_health(std::string_view{parsed->path}.substr(pipeline_health_prefix.size()),
                           at);
  return found->answer(*parsed, at);
}

} // namespace cdc::actors::http
