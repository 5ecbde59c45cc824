#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "sinks/memory_state.hpp"

namespace cdc::sinks::ndjson {

/// What stands beside the lines: the state of the stream, and how many bytes of which file it is
/// worth. Whatever lies behind them was never acknowledged.
struct stored_state {
  kept_state kept;
  std::uint64_t serial = 0;    ///< Ascends with every write of it.
  std::uint64_t file = 1;      ///< Counts the files that rotation has begun.
  std::uint64_t bytes = 0;     ///< Of that file.
  std::string boot;            ///< Of the machine's life it was written in.
  std::int64_t written_at = 0; ///< Microseconds since 1970-01-01 UTC.

  bool operator==(const stored_state&) const = default;
};

/// One `name value` a line, the last one a checksum of the others; values percent-encoded.
[[nodiscard]] std::string to_text(const stored_state& state);
/// Refuses anything that to_text() did not write to its end.
[[nodiscard]] result<stored_state> parse_state(std::string_view text);

} // namespace cdc::sinks::ndjson
