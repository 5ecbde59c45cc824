#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/interfaces.hpp"
#include "messages/credit.hpp"
#include "sources/source.hpp"

namespace cdc::actors {

struct source_options {
  incarnation life = 0;
  credit window{16, std::uint64_t{8} << 20}; ///< Of each branch.
  std::chrono::microseconds nap{200};        ///< Between two looks at a busy stream.
  std::string pipeline;
  std::shared_ptr<actor_stats> stats;
  std::shared_ptr<pipeline_stats> counts;
};

/// Reads one log and sends its blocks to every branch, each as one pointer. It reads only while all
/// branches have credit, and answers the server whether it reads or not.
class log_reader final : public poll_actor {
public:
  /// `catalogue` answers shape_order.
  log_reader(caf::actor_config& config, std::unique_ptr<sources::log_stream> log,
             std::vector<engine_actor> branches, reader_actor catalogue, source_options options);

  const char* name() const override { return "cdc.source"; }

private:
  result<void> run() override;
  void ended() noexcept override;

  void handle_messages();
  void on_repayment(const repayment& paid);
  void on_shape(const shape_found& answer);

  result<void> step(sources::clock::time_point now);
  void take(block_ptr rows);
  void ship(bool source_is_empty);
  void ask_for_shape();
  void show(const block& rows);
  void show_reading();
  void show_credit();
  [[nodiscard]] bool may_read() const noexcept;

  std::unique_ptr<sources::log_stream> log_;
  std::vector<engine_actor> branches_;
  reader_actor catalogue_;
  source_options options_;

  std::vector<credit_window> windows_; ///< One a branch.
  std::optional<shipment> held_;       ///< Decoded; sent once it is known what follows.
  bool told_empty_ = false;            ///< The branches know that nothing is on its way.
  bool is_quiet_ = false;
  bool is_stopped_ = false;
  std::optional<std::uint32_t> asked_shape_;
  std::optional<error> failure_;
  sources::clock::time_point naps_until_{};
};

} // namespace cdc::actors
