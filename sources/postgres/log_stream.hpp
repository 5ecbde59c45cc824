#pragma once

#include <memory>
#include <vector>

#include "messages/relation.hpp"
#include "sources/postgres/replication_connection.hpp"
#include "sources/postgres/stream_core.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// Streams a slot's log over a connection of its own, which the first advance() begins.
///
/// `known` are shapes the catalogue has given already: they need not be asked for again. `allowed`
/// lives on from one stream of a slot to the next; it may be null.
[[nodiscard]] std::unique_ptr<log_stream>
make_log_stream(stream_request request, const std::vector<relation_ptr>& known,
                std::shared_ptr<patience> allowed = nullptr, stream_options options = {});

} // namespace cdc::sources::postgres
