#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/typed_event_based_actor.hpp>

#include "actors/board.hpp"
#include "supervision/interfaces.hpp"
#include "supervision/pipeline_supervisor.hpp"

namespace cdc::supervision {

/// How the process ended.
struct outcome {
  struct halted_pipeline {
    std::string name;
    error why;
  };
  std::size_t pipelines = 0;
  std::vector<halted_pipeline> halted;
};

struct root_options {
  /// `number`, `board` and `parent` are filled in here.
  std::vector<pipeline_options> pipelines;
  std::shared_ptr<actors::board> board;
  /// Called once, when no pipeline runs any more. On any thread.
  std::function<void(const outcome&)> over;
  /// Called when every pipeline has begun its first life, or has halted.
  std::function<void()> ready = [] {};
};

/// Runs all pipelines; ends when each has ended, or halted for good.
class root_supervisor {
public:
  static constexpr const char* name = "cdc.root";

  explicit root_supervisor(root_actor::pointer self) : self_(self) {}

  root_actor::behavior_type start(root_options options);

private:
  enum class stand : std::uint8_t {
    starting,
    running,
    halted, ///< Until a person, or its own timer, begins it again.
    over,
  };
  struct stage {
    pipeline_actor who;
    std::string name;
    stand at = stand::starting;
    bool comes_back = false;
    std::optional<error> why; ///< Of its halt.
  };

  void on_news(const pipeline_news& news);
  void on_stop();
  void on_revive(std::uint64_t number);
  void on_down(const caf::down_msg& down);

  void end_when_none_runs();

  root_actor::pointer self_;
  root_options options_;
  std::vector<stage> places_;
  bool is_ready_ = false;
  bool is_stopping_ = false;
};

/// Spawn with `system.spawn(root_behavior, options)`.
root_actor::behavior_type root_behavior(root_actor::stateful_pointer<root_supervisor> self,
                                        root_options options);

} // namespace cdc::supervision
