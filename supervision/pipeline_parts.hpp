#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/board.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/position.hpp"
#include "messages/relation.hpp"
#include "sinks/sink.hpp"
#include "sources/source.hpp"

namespace cdc::supervision {

/// A source made ready for one life of a pipeline.
struct ready_source {
  struct table {
    relation_ptr shape;
    std::size_t section = 0; ///< Index into pipeline_config::syncs.
    /// What puts it into the stream, by a number that no other has, before or later; 0: not known.
    std::uint32_t published_by = 0;
  };
  std::vector<table> tables;
  position start;   ///< Where the log begins that a target without a checkpoint needs.
  position log_end; ///< The log's end, now.
  std::vector<transaction_id> unproved; ///< engine::start_point::unproved.
  std::vector<std::string> notes;
  std::string log_name; ///< Shown with what it holds back: the slot's name. Empty: nothing is.
  actors::static_text under_pressure = ""; ///< Why the load stands still while the log is short.
};

/// What one life of one pipeline is made of. The composition root makes it, tests fake it.
///
/// Called by one thread, in the order below; cancel() by any other. What it hands out may outlive
/// it.
class pipeline_parts {
public:
  virtual ~pipeline_parts() = default;

  /// Which stream this is. Touches nothing.
  [[nodiscard]] virtual result<stream_identity> identify() = 0;
  /// One for each configured target, not open yet.
  [[nodiscard]] virtual result<std::unique_ptr<sinks::sink>> make_sink(std::size_t target) = 0;
  /// Creates what is missing at the source, or says why it cannot be. `resumes`: of each target.
  [[nodiscard]] virtual result<ready_source>
  prepare_source(const std::vector<std::optional<position>>& resumes) = 0;
  [[nodiscard]] virtual result<std::unique_ptr<sources::log_stream>> make_stream(position from) = 0;
  /// `role` tells its connection from others at the server.
  [[nodiscard]] virtual std::unique_ptr<sources::table_reader>
  make_reader(const std::string& role) = 0;

  /// The blocking call under way ends with errc::cancelled, soon; later ones too.
  virtual void cancel() noexcept = 0;
};

} // namespace cdc::supervision
