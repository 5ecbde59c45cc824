#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "sinks/blocking_target.hpp"
#include "sinks/file_lock.hpp"
#include "sinks/ndjson/batch_lines.hpp"
#include "sinks/ndjson/checkpoint_file.hpp"
#include "sinks/ndjson/data_file.hpp"

namespace cdc::sinks::ndjson {

struct ndjson_options {
  std::string path;
  std::uint64_t rotate_bytes = 0; ///< Of one file, past which the next begins; 0: never.
};

/// A file of lines as a target. A start cuts off what was never acknowledged, so that every line is
/// there exactly once. Lines of an open transaction stand in the file until it ends or is cut.
class ndjson_target final : public blocking_target {
public:
  explicit ndjson_target(ndjson_options options) : options_(std::move(options)) {}
  ~ndjson_target() override;

  [[nodiscard]] result<sink_state> open(const stream_identity& stream) override;
  [[nodiscard]] result<std::vector<std::string>>
  prepare(const std::vector<target_table_ptr>& tables) override;
  [[nodiscard]] result<write_report> write(const batch& work) override;
  void interrupt() noexcept override { is_interrupted_ = true; }

private:
  [[nodiscard]] result<void> restore(const stream_identity& stream);
  [[nodiscard]] result<void> write_all(const batch& work);
  [[nodiscard]] result<void> rotate();
  [[nodiscard]] result<void> commit(bool is_durable);

  ndjson_options options_;
  file_lock lock_;
  std::optional<data_file> data_;
  std::optional<checkpoint_file> checkpoint_;
  stored_state state_;          ///< As of the last change, an open transaction's included.
  std::uint64_t committed_ = 0; ///< Bytes that the checkpoint vouches for.
  batch_lines lines_;
  std::atomic<bool> is_interrupted_{false};
};

} // namespace cdc::sinks::ndjson
