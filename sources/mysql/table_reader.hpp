#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "messages/block.hpp"
#include "sources/mysql/coordinates.hpp"
#include "sources/source.hpp"

namespace cdc::sources::mysql {

struct reader_options {
  std::string role = "load"; ///< Ends the program's name in the server's list of connections.
  coordinates at;            ///< In which positions are counted.
  /// The token from which the log is still needed, as it moves: whose pressure() is asked. Null:
  /// nobody needs it.
  std::shared_ptr<const std::atomic<std::uint64_t>> needed;
  block_limits limits;
  std::size_t blocks_kept = 16; ///< Blocks kept for reuse: the reader's window and a few.
  /// How long a table without a key waits for a moment without commits.
  std::chrono::milliseconds quiet_patience{10'000};
};

/// A reader that connects at its first call, and again after its connection broke (the call that
/// noticed fails). pressure(), look(), describe() and read_key() are refused while a range is open:
/// ask a reader that reads none. nudge() does nothing: an idle server's log is at its end, and its
/// heartbeats say so.
[[nodiscard]] std::unique_ptr<table_reader> make_table_reader(const config::source_config& source,
                                                              reader_options options);

} // namespace cdc::sources::mysql
