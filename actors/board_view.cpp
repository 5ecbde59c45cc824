#include "actors/board_view.hpp"

#include <algorithm>

namespace cdc::actors {

std::string_view to_string(actor_kind what) noexcept {
  switch (what) {
    case actor_kind::node:
      return "node";
    case actor_kind::root:
      return "root";
    case actor_kind::pipeline:
      return "pipeline";
    case actor_kind::source:
      return "source";
    case actor_kind::coordinator:
      return "coordinator";
    case actor_kind::reader:
      return "reader";
    case actor_kind::engine:
      return "engine";
    case actor_kind::sink:
      return "sink";
    case actor_kind::checkpoint:
      return "checkpoint";
    case actor_kind::http:
      return "http";
  }
  return "?";
}

std::string_view to_string(actor_state what) noexcept {
  switch (what) {
    case actor_state::starting:
      return "starting";
    case actor_state::running:
      return "running";
    case actor_state::stopping:
      return "stopping";
    case actor_state::stopped:
      return "stopped";
    case actor_state::failed:
      return "failed";
  }
  return "?";
}

std::string_view to_string(pipeline_state what) noexcept {
  switch (what) {
    case pipeline_state::starting:
      return "starting";
    case pipeline_state::loading:
      return "loading";
    case pipeline_state::streaming:
      return "streaming";
    case pipeline_state::reconnecting:
      return "reconnecting";
    case pipeline_state::halted:
      return "halted";
    case pipeline_state::stopped:
      return "stopped";
  }
  return "?";
}

std::string_view to_string(table_state what) noexcept {
  switch (what) {
    case table_state::waiting:
      return "waiting";
    case table_state::loading:
      return "loading";
    case table_state::loaded:
      return "loaded";
  }
  return "?";
}

std::string_view reading_mode(const pipeline_view& of) noexcept {
  if (of.is_catching_up)
    return "catch-up";
  return of.state == pipeline_state::loading ? "load" : "stream";
}

std::string spell_token(position at) {
  return std::to_string(at.token);
}

std::string_view to_string(wal_status what) noexcept {
  switch (what) {
    case wal_status::reserved:
      return "reserved";
    case wal_status::extended:
      return "extended";
    case wal_status::unreserved:
      return "unreserved";
    case wal_status::lost:
      return "lost";
    case wal_status::unknown:
      return "unknown";
  }
  return "?";
}

std::vector<std::size_t> roots_of(const board_view& seen) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < seen.actors.size(); ++i)
    if (std::none_of(seen.actors.begin(), seen.actors.end(),
                     [&](const actor_view& other) { return other.id == seen.actors[i].parent; }))
      found.push_back(i);
  return found;
}

std::vector<std::size_t> children_of(const board_view& seen, const actor_view& parent) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < seen.actors.size(); ++i)
    if (seen.actors[i].parent == parent.id)
      found.push_back(i);
  return found;
}

} // namespace cdc::actors
