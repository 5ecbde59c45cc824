#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "messages/relation.hpp"
#include "sources/postgres/catch_up_plan.hpp"
#include "sources/postgres/replication_connection.hpp"
#include "sources/postgres/stream_core.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// How a stream that is far behind gets on faster than a walsender sends: see catch_up_reader.
struct catch_up_use {
  conninfo to; ///< purpose::query.
  catch_up_options options;
  std::shared_ptr<catch_up_record> record; ///< Lives on from one stream of a slot to the next.
};

/// Streams a slot's log over a connection of its own, which the first advance() begins.
///
/// `known` are shapes the catalogue has given already: they need not be asked for again. `allowed`
/// lives on from one stream of a slot to the next; it may be null. Without `catch_up` the log comes
/// from the walsender alone.
[[nodiscard]] std::unique_ptr<log_stream>
make_log_stream(stream_request request, const std::vector<relation_ptr>& known,
                std::shared_ptr<patience> allowed = nullptr, stream_options options = {},
                std::optional<catch_up_use> catch_up = std::nullopt);

} // namespace cdc::sources::postgres
