#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "sinks/memory_state.hpp"
#include "sinks/sink.hpp"

namespace cdc::sinks::null {

/// Takes everything, keeps the counts. Completes inside submit(). Its state is durable as long as
/// the process lives: it is found again, by name, after a rebuild of the pipeline.
class null_sink final : public sink {
public:
  explicit null_sink(const std::string& name) : state_("null " + name) {}

  [[nodiscard]] result<sink_state> open(const stream_identity& stream) override;
  [[nodiscard]] result<void> prepare(const std::vector<target_table_ptr>& tables) override;
  void submit(batch_ptr work, completion done) override;
  void cancel() noexcept override { is_cancelled_ = true; }

  /// From any thread: operations of one kind so far.
  [[nodiscard]] std::uint64_t count(action what) const noexcept;

private:
  [[nodiscard]] result<write_report> take(const batch& work);

  memory_state state_;
  std::atomic<bool> is_cancelled_{false};
  std::array<std::atomic<std::uint64_t>, 8> counts_{};
};

} // namespace cdc::sinks::null
