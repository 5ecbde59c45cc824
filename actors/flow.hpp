#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/board_view.hpp"

namespace cdc::actors {

/// Shares of the time between two looks, 0 … 1.
struct actor_flow {
  double busy = 0;
  double starved = 0;
  double messages_per_second = 0;
};

struct table_flow {
  double rows_per_second = 0;
  double part_done = 0;                 ///< 0 … 1; 1 only when it is loaded.
  std::optional<double> seconds_left{}; ///< None: nothing to tell it from.
};

struct sink_flow {
  double writing = 0; ///< Time spent in writes to the target; above 1 with several at once.
  double batches_per_second = 0;
};

/// Which stage sets the pace of a pipeline.
struct bottleneck {
  std::string stage; ///< `source`, an engine's or a sink's name; empty: nothing waits for anything.
  std::string_view why;
};

struct pipeline_flow {
  double streamed_rows_per_second = 0; ///< Changes of rows decoded from the log.
  double copied_rows_per_second = 0;   ///< Rows read by the load, over all tables.
  double stream_bytes_per_second = 0;
  double log_bytes_per_second = 0;      ///< By which the source's log was passed.
  std::optional<double> seconds_left{}; ///< Of a log that is being caught up with.
  bottleneck slowest;
  std::string held_back_by;       ///< Of several sinks the one furthest behind, if any is.
  std::vector<table_flow> tables; ///< As pipeline_view::tables.
  std::vector<sink_flow> sinks;   ///< As pipeline_view::sinks.
};

/// What moved between two looks at one board.
struct flow_view {
  double seconds = 0;             ///< Between the looks; 0: there was but one.
  std::vector<actor_flow> actors; ///< As board_view::actors of the later look.
  std::vector<pipeline_flow> pipelines;
};

/// With `before` null, rates are the averages of each table's load so far, and zero elsewhere. What
/// began anew between the looks counts from zero.
[[nodiscard]] flow_view derive_flow(const board_view* before, const board_view& now);

} // namespace cdc::actors
