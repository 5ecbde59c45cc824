#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "messages/batch.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/target_table.hpp"
#include "sinks/target_gauges.hpp"

namespace cdc::sinks {

/// One target. Plain code that knows nothing of actors. Called by one thread at a time; a
/// completion may run on any thread, and for one sink completions run in the order of submission.
///
/// Every sink passes tests/contract/sink_contract.hpp, which states these promises in code.
class sink {
public:
  virtual ~sink() = default;

  /// Connects, creates or checks its own state tables, raises the epoch and says what a start
  /// needs. Blocks; call it off the scheduler. A checkpoint of another stream is
  /// errc::foreign_stream.
  [[nodiscard]] virtual result<sink_state> open(const stream_identity& stream) = 0;

  /// Creates the tables that are missing and refuses, by column, those that cannot hold the rows.
  /// Blocks. Also called while streaming when a shape changes (never with a batch open).
  [[nodiscard]] virtual result<void> prepare(const std::vector<target_table_ptr>& tables) = 0;

  /// Takes the next batch. At most `window()` are outstanding. A failed batch has written nothing
  /// of it, and every later one fails too: the pipeline is rebuilt from the checkpoint.
  virtual void submit(batch_ptr work, completion done) = 0;

  /// From any thread, at any time: what is outstanding ends with errc::cancelled (or was written),
  /// soon. Nothing is accepted afterwards.
  virtual void cancel() noexcept = 0;

  /// What a person should know since the last call and nothing has to stop for, such as a column
  /// that the target lacks and whose values are therefore left out. Ask after prepare().
  [[nodiscard]] virtual std::vector<std::string> take_notices() { return {}; }

  /// Before the first submit(): where the target shows how it fares, if it has something to show.
  virtual void show_at(const std::shared_ptr<target_gauges>& /*where*/) {}

  /// How many batches may be outstanding: two keep a blocking target busy while the next is made.
  [[nodiscard]] virtual std::size_t window() const noexcept { return 2; }
};

} // namespace cdc::sinks
