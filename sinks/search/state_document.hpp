#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "sinks/memory_state.hpp"

namespace cdc::sinks::search {

/// The hidden index that our state lives in; its name and the checkpoint's id and fields are those
/// of pg2osync, so that either can go on where the other stopped.
inline constexpr std::string_view state_index = ".pg2osync_meta";

/// What an index was set to before a load changed it. None: it was not set.
struct index_settings {
  std::optional<std::string> refresh_interval;
  std::optional<std::string> replicas;

  bool operator==(const index_settings&) const = default;
};

/// The one document that holds all we keep at a target, and that every life writes by
/// compare-and-set.
struct state_document {
  kept_state kept;
  std::string life;                              ///< Names the life that wrote it last.
  std::int64_t written_at = 0;                   ///< Microseconds since 1970-01-01 UTC.
  std::map<std::string, index_settings> relaxed; ///< By index: to be put back.
  std::set<std::string> guarded;                 ///< Indices that were given our alias.
  bool is_foreign = false; ///< Written by pg2osync: it has a position and nothing else of ours.

  bool operator==(const state_document&) const = default;
};

/// `postgres-cdc_slot`: characters that an id should not have are replaced.
[[nodiscard]] std::string state_id(const stream_identity& stream);

/// A position as the source spells it: `0/16B3748`.
[[nodiscard]] std::string spelled(position at, std::string_view source);

[[nodiscard]] std::string to_json(const state_document& state);
/// errc::target_misconfigured when it is damaged or of a newer version.
[[nodiscard]] result<state_document> read_state(std::string_view json);

/// errc::foreign_stream, naming both, when the state is not that of the stream. What pg2osync wrote
/// names neither server nor database.
[[nodiscard]] result<void> check_stream(const state_document& state, const stream_identity& stream,
                                        std::string_view where);

} // namespace cdc::sinks::search
