#pragma once

#include <string>

#include "messages/error.hpp"
#include "sinks/http/client.hpp"

namespace cdc::sinks::search {

/// Whether the answer to `GET /` comes from a server that this flavour can write: OpenSearch from
/// 2.0 on, Elasticsearch from 7.17 on. One that answers nothing of use there is taken by its
/// header.
[[nodiscard]] result<void> check_version(const http::response& said, bool wants_elasticsearch,
                                         const std::string& where);

} // namespace cdc::sinks::search
