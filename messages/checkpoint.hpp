#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/position.hpp"

namespace cdc {

/// Which stream a checkpoint belongs to. One that belongs elsewhere is refused.
struct stream_identity {
  std::string source; ///< `postgres`.
  std::string server; ///< PostgreSQL: the system identifier.
  std::string stream; ///< PostgreSQL: the slot's name.
  std::string database;
  std::string publication;

  bool operator==(const stream_identity&) const = default;
};

/// Where a stream resumes at one target.
struct checkpoint {
  position resume;  ///< transaction::end of the last one written whole; never reported beyond.
  position version; ///< transaction::final of the same one: E of the load rule.

  bool operator==(const checkpoint&) const = default;
};

/// A durable name and value beside the checkpoint: load progress, the gate's transactions, the
/// snapshots of keyless tables. The sink stores them and understands none.
struct record {
  std::string name;
  std::optional<std::string> value; ///< nullopt removes the record.

  bool operator==(const record&) const = default;
};

/// A row the target lacks and that must be read again by its key.
struct listed_key {
  std::string table; ///< target_table::name.
  std::string key;   ///< encode_key().

  auto operator<=>(const listed_key&) const = default;
};

/// What a start needs to know from a target.
struct sink_state {
  std::uint64_t epoch = 0;            ///< Raised by open(); every write carries it.
  std::optional<checkpoint> resume{}; ///< None: this stream was never written here.
  std::vector<std::pair<std::string, std::string>> records{};
  std::vector<listed_key> refetch{};
};

} // namespace cdc
