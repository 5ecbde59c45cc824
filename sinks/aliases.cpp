#include "sinks/aliases.hpp"

#include <utility>

#include "messages/json.hpp"
#include "sinks/search/exchange.hpp"
#include "sinks/search/index_guard.hpp"
#include "sinks/search/search_options.hpp"

namespace cdc::sinks {

namespace {

void add_action(json::writer& to, std::string_view what, const std::string& index,
                const std::string& alias) {
  to.begin_object().key(what).begin_object();
  to.member("index", index).member("alias", alias).end_object().end_object();
}

} // namespace

result<std::vector<std::string>> switch_alias(const config::target_config& target,
                                              const std::string& alias, const std::string& index) {
  const auto over = http::make_client(search::options_of(target, {}).over);
  search::exchange with(*over);
  const auto at = search::look_up(with, index);
  if (!at)
    return tl::unexpected(at.error());
  if (!at->is_there || at->is_alias)
    return fail(errc::target_misconfigured, "{} is {}: the configuration has to name an index",
                index, at->is_there ? "an alias" : "not there");
  const auto now = search::look_up(with, alias);
  if (!now)
    return tl::unexpected(now.error());
  if (now->is_there && !now->is_alias)
    return fail(errc::target_misconfigured, "{} is an index, and cannot be an alias as well",
                alias);
  std::vector<std::string> holders;
  if (now->is_there) {
    auto found = search::holders_of(with, alias);
    if (!found)
      return tl::unexpected(found.error());
    holders = std::move(*found);
  }
  std::string body;
  json::writer to{body};
  to.begin_object().key("actions").begin_array();
  for (const auto& each : holders)
    if (each != index)
      add_action(to, "remove", each, alias);
  add_action(to, "add", index, alias);
  to.end_array().end_object();
  const auto done = with.demand("POST", "/_aliases", std::move(body));
  if (!done)
    return tl::unexpected(done.error());
  return holders;
}

} // namespace cdc::sinks
