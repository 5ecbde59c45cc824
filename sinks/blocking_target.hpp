#pragma once

#include <string>
#include <vector>

#include "messages/batch.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/target_table.hpp"

namespace cdc::sinks {

/// A target whose client blocks. threaded_sink gives it a thread and a queue, so that an
/// implementation is straight-line code; the promises are those of sink, said for one thread.
///
/// All but interrupt() are called from one thread, and so is the destructor. After a failed write()
/// nothing but the destructor is called.
class blocking_target {
public:
  virtual ~blocking_target() = default;

  [[nodiscard]] virtual result<sink_state> open(const stream_identity& stream) = 0;

  /// The notices say what a person should know and nothing has to stop for.
  [[nodiscard]] virtual result<std::vector<std::string>>
  prepare(const std::vector<target_table_ptr>& tables) = 0;

  /// Writes all of it or nothing of it.
  [[nodiscard]] virtual result<write_report> write(const batch& work) = 0;

  /// From any thread: the call that blocks now, and every later one, ends soon with
  /// errc::cancelled.
  virtual void interrupt() noexcept = 0;
};

} // namespace cdc::sinks
