#pragma once

#include <filesystem>
#include <optional>

#include "messages/error.hpp"
#include "sinks/ndjson/stored_state.hpp"
#include "sinks/posix_file.hpp"

namespace cdc::sinks::ndjson {

/// The checkpoint beside the lines, as two files:
///
///   <path>.checkpoint         survives a power loss; written when one is asked for
///   <path>.checkpoint.recent  survives the process; written with every batch, without a sync
///
/// The recent one counts only in the machine's life that wrote it: after a power loss nobody knows
/// which of the bytes that it speaks of have reached the disk.
class checkpoint_file {
public:
  explicit checkpoint_file(const std::filesystem::path& data);

  /// The newest state that holds; nothing when there is none.
  [[nodiscard]] result<std::optional<stored_state>> read() const;

  /// A durable one stands alone: the recent one is gone afterwards.
  [[nodiscard]] result<void> write(stored_state& state, bool is_durable);

  /// errc::fenced once another life has written the durable file.
  [[nodiscard]] result<void> check() const;

private:
  std::filesystem::path durable_;
  std::filesystem::path recent_;
  posix_file ours_; ///< The durable file as this life wrote it.
};

} // namespace cdc::sinks::ndjson
