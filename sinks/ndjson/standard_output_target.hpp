#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "sinks/blocking_target.hpp"
#include "sinks/memory_state.hpp"
#include "sinks/ndjson/batch_lines.hpp"

namespace cdc::sinks::ndjson {

/// Lines to a descriptor that nothing can be taken back from: every line at least once. The state
/// lives as long as the process. Nothing of a transaction is written before all of a batch is
/// rendered, and a reader that stops reading stops the stream, not a cancellation.
class standard_output_target final : public blocking_target {
public:
  explicit standard_output_target(const std::string& name, int descriptor = 1)
      : state_("standard output of " + name), descriptor_(descriptor) {}

  [[nodiscard]] result<sink_state> open(const stream_identity& stream) override;
  [[nodiscard]] result<std::vector<std::string>>
  prepare(const std::vector<target_table_ptr>& tables) override;
  [[nodiscard]] result<write_report> write(const batch& work) override;
  void interrupt() noexcept override { is_interrupted_ = true; }

private:
  [[nodiscard]] result<void> put(std::string_view lines);
  [[nodiscard]] result<void> wait_for_room() const;

  memory_state state_;
  int descriptor_;
  batch_lines lines_;
  std::atomic<bool> is_interrupted_{false};
};

} // namespace cdc::sinks::ndjson
