#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "engine/engine.hpp"
#include "messages/error.hpp"
#include "supervision/pipeline_parts.hpp"

namespace cdc::supervision {

/// One sink of one life, ready to be written to.
struct branch_setup {
  std::string name;
  std::shared_ptr<sinks::sink> sink;
  std::shared_ptr<engine::engine> core;
  std::vector<relation_ptr> shapes;                    ///< Of the engine's tables, in their order.
  std::vector<bool> keyless;                           ///< Whether their targets have no key.
  std::vector<std::optional<table_progress>> progress; ///< Of the same, from earlier lives.
  std::size_t listed = 0;                              ///< Rows to be read again by key.

  [[nodiscard]] bool needs_load() const noexcept;
};

/// Everything one life needs before its actors exist.
struct life_setup {
  std::vector<branch_setup> branches;
  std::unique_ptr<sources::log_stream> log;
  position log_end; ///< When this life began.
  std::vector<std::string> notes;
  std::string log_name;                    ///< As in ready_source …
  actors::static_text under_pressure = ""; ///< … like this.
};

/// Prepares one life of a pipeline: identifies the source, opens the sinks, makes the source and
/// the target tables ready, and builds the engines. Blocks; run it aside.
class setting_up {
public:
  /// `fresh`: whatever the targets hold of this stream is emptied and loaded anew.
  setting_up(std::shared_ptr<const config::pipeline_config> config,
             std::shared_ptr<pipeline_parts> parts, bool fresh = false)
      : config_(std::move(config)), parts_(std::move(parts)), fresh_(fresh) {}

  [[nodiscard]] result<std::shared_ptr<life_setup>> run();

  /// From any thread: run() ends soon, with errc::cancelled.
  void cancel() noexcept;

private:
  [[nodiscard]] result<void> open_sinks(life_setup& into);
  [[nodiscard]] result<void> fill_branch(branch_setup& branch, std::size_t target,
                                         ready_source& source);

  std::shared_ptr<const config::pipeline_config> config_;
  std::shared_ptr<pipeline_parts> parts_;
  bool fresh_;
  std::vector<sink_state> states_; ///< One a branch.

  std::mutex guard_;
  std::vector<std::shared_ptr<sinks::sink>> open_; ///< What cancel() has to reach.
  bool is_cancelled_ = false;
};

/// Empties the tables of a target and makes it forget what it knows of the stream, in one batch
/// that moves its checkpoint to `start`. `state` becomes what is left. Blocks.
[[nodiscard]] result<void> begin_anew(sinks::sink& target, sink_state& state,
                                      const std::vector<target_table_ptr>& tables, position start);

/// Empties some tables of a target and makes it forget their load; its checkpoint stays, and is
/// `start` where it has none. `state` becomes what is left. Blocks.
[[nodiscard]] result<void> forget_tables(sinks::sink& target, sink_state& state,
                                         const std::vector<target_table_ptr>& tables,
                                         position start);

/// How a pipeline maps shapes to targets: the section that takes the table, or null.
[[nodiscard]] result<target_table_ptr> map_shape(const config::pipeline_config& config,
                                                 const relation_ptr& shape);

} // namespace cdc::supervision
