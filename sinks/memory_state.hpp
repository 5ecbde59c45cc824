#pragma once

#include <map>
#include <set>
#include <string>

#include "messages/batch.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"

namespace cdc::sinks {

/// The state of a target that cannot keep any itself, for as long as the process lives. Found again
/// by name, so that a rebuilt pipeline resumes where it was.
class memory_state {
public:
  /// Raises the epoch. Another stream's state is errc::foreign_stream.
  [[nodiscard]] static result<sink_state> open(const std::string& name,
                                               const stream_identity& stream);
  /// What a batch says of checkpoint, records and listed keys; errc::fenced under a newer epoch.
  [[nodiscard]] static result<void> write(const std::string& name, std::uint64_t epoch,
                                          const batch& work);
  [[nodiscard]] static std::optional<checkpoint> resume(const std::string& name);
};

/// Applies what a batch says of records and listed keys. `forget`, `upsert`, `remove` and
/// `truncate` take keys off the list.
void apply_state(const batch& work, std::map<std::string, std::string>& records,
                 std::set<listed_key>& listed);

} // namespace cdc::sinks
