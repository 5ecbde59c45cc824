#include "sinks/refresh.hpp"

#include <fmt/format.h>

#include "sinks/search/exchange.hpp"
#include "sinks/search/search_options.hpp"

namespace cdc::sinks {

result<void> refresh(const config::target_config& target, const std::vector<std::string>& names) {
  if (!config::is_document_target(target) || names.empty())
    return {};
  std::string all;
  for (const auto& each : names)
    all += (all.empty() ? "" : ",") + search::in_path(each);
  const auto over = http::make_client(search::options_of(target, {}).over);
  return search::exchange(*over)
      .demand("POST", fmt::format("/{}/_refresh?ignore_unavailable=true", all))
      .map([](const http::response&) {});
}

} // namespace cdc::sinks
