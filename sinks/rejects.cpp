#include "sinks/rejects.hpp"

#include <algorithm>
#include <utility>

#include "sinks/search/quarantine.hpp"
#include "sinks/search/replay.hpp"
#include "sinks/search/search_options.hpp"

namespace cdc::sinks {

bool keeps_rejects(const config::target_config& target) noexcept {
  return config::is_document_target(target);
}

result<rejects> list_rejects(const config::target_config& target, std::size_t limit) {
  const auto over = http::make_client(search::options_of(target, {}).over);
  search::exchange with(*over);
  auto all = search::read_rejects(with);
  if (!all)
    return tl::unexpected(all.error());
  std::ranges::sort(*all, {}, [](const auto& each) { return std::pair{each.what.at, each.id}; });
  rejects out;
  out.total = all->size();
  for (auto& each : *all)
    if (out.some.size() < limit)
      out.some.push_back(std::move(each.what));
  return out;
}

result<replayed> replay_rejects(const config::target_config& target) {
  const auto options = search::options_of(target, {});
  const auto over = http::make_client(options.over);
  search::exchange with(*over);
  return search::replay(with, options.require_alias);
}

} // namespace cdc::sinks
