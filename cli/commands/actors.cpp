#include "cli/commands/actors.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/terminal.hpp"

namespace cdc::cli {

namespace {

constexpr const char* token_variable = "CDC_ACTORS_TOKEN";

std::optional<std::string> process_environment(const char* name) {
  const auto* const value = std::getenv(name);
  return value ? std::optional<std::string>{value} : std::nullopt;
}

/// One that listens on every address is asked on the nearest.
std::string reachable(const std::string& host) {
  if (host == "0.0.0.0")
    return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

result<listener> listener_of(const std::filesystem::path& file) {
  auto read = config::read(file);
  if (!read)
    return tl::unexpected(std::move(read).error());
  const auto& metrics = read->metrics;
  if (!metrics.enabled)
    return fail(errc::invalid_config, "{}: metrics.enabled is false: nothing answers",
                file.string());
  return listener{{reachable(metrics.host), metrics.port},
                  metrics.token.value_or(config::secret{})};
}

/// What a response other than 200 means to who asked.
std::string refusal(const actors::http::fetched& answer, const actors_options& options) {
  if (answer.status != 401)
    return fmt::format("the process answered {}: {}", answer.status, answer.body);
  return options.config ? "the process wants another token than the file names\n"
                        : fmt::format("the process wants its token: set {}, or name its file\n",
                                      token_variable);
}

int report(const error& why) {
  say(stderr, fmt::format("cdc-actors: {}\n", why.detail));
  return why.code == errc::invalid_config ? 2 : 1;
}

} // namespace

result<listener> find_listener(const actors_options& options, config::environment lookup) {
  if (options.config)
    return listener_of(*options.config);
  listener found;
  if (!options.url.empty()) {
    const auto at = actors::http::parse_address(options.url);
    if (!at)
      return tl::unexpected(at.error());
    found.at = *at;
  }
  found.token = config::secret{lookup(token_variable).value_or("")};
  return found;
}

int run_actors(const actors_options& options) {
  const auto found = find_listener(options, process_environment);
  if (!found)
    return report(found.error());
  const auto* const target = options.json ? "/actors" : "/actors?format=text";
  const auto answer = actors::http::fetch(found->at, target, found->token);
  if (!answer)
    return report(answer.error());
  if (answer->status != 200) {
    say(stderr, fmt::format("cdc-actors: {}", refusal(*answer, options)));
    return 1;
  }
  if (options.json)
    std::fputs(answer->body.c_str(), stdout);
  else
    say(stdout, answer->body);
  return 0;
}

} // namespace cdc::cli
