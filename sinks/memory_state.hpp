#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "messages/batch.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"

namespace cdc::sinks {

/// What a sink keeps beside the rows, for targets that are no database.
struct kept_state {
  stream_identity stream;
  std::uint64_t epoch = 0;
  std::optional<checkpoint> resume;
  std::map<std::string, std::string> records;
  std::set<listed_key> listed;

  bool operator==(const kept_state&) const = default;

  /// Takes what a batch says of checkpoint, records and listed keys. A row that is written, removed
  /// or forgotten, and a table that is emptied, leave the list; every move counts as found.
  void apply(const batch& work);
  [[nodiscard]] sink_state to_sink_state() const;
};

/// A kept_state that lives as long as the process, found again by name: what a target has that can
/// keep nothing itself, so that a rebuilt pipeline resumes where it was.
class memory_state {
public:
  explicit memory_state(std::string name) : name_(std::move(name)) {}

  /// Raises the epoch. Another stream's state is errc::foreign_stream.
  [[nodiscard]] result<sink_state> open(const stream_identity& stream);
  /// Takes a batch; the process remembers it when its transaction ends. errc::fenced under a newer
  /// epoch.
  [[nodiscard]] result<void> write(const batch& work);
  [[nodiscard]] const std::optional<checkpoint>& resume() const noexcept { return now_.resume; }

private:
  std::string name_;
  kept_state now_;
};

} // namespace cdc::sinks
