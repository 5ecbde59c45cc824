#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "messages/relation.hpp"
#include "sources/mysql/dump.hpp"
#include "sources/mysql/stream_core.hpp"
#include "sources/source.hpp"

namespace cdc::sources::mysql {

struct stream_request {
  endpoint to;
  std::uint32_t server_id = 0;
  stream_start from;
  /// What is durable at every target is noted here; null: nowhere.
  std::shared_ptr<std::atomic<std::uint64_t>> needed{};
};

/// Streams a server's log over a connection and a thread of its own, which the first advance()
/// begins. `known` are shapes the catalogue has given already.
[[nodiscard]] std::unique_ptr<log_stream> make_log_stream(stream_request request,
                                                          const std::vector<relation_ptr>& known,
                                                          stream_options options = {});

} // namespace cdc::sources::mysql
