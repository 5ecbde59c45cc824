#pragma once

#include <cstddef>

#include "config/config.hpp"
#include "sinks/http/client.hpp"

namespace cdc::sinks::search {

struct search_options {
  http::client_options over;
  bool is_elasticsearch = false;
  bool require_alias = false;
  bool quarantines = false;
  std::size_t rejects_max = 0; ///< Put aside at the target, whoever did it.
  std::size_t write_concurrency = 1;
  std::size_t items_max = 500;              ///< Of one request.
  std::size_t bytes_max = 10 * 1024 * 1024; ///< The same.
};

[[nodiscard]] search_options options_of(const config::target_config& target,
                                        const config::engine_config& engine);

} // namespace cdc::sinks::search
