#pragma once

#include <memory>
#include <optional>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/interfaces.hpp"
#include "sources/source.hpp"

namespace cdc::actors {

/// Does what one connection to the source can do besides streaming: plans, copies ranges, reads
/// rows by key, looks, nudges. One order at a time; an order that fails is answered with its error,
/// and the reader goes on. Whoever stops it also calls table_reader::cancel().
class table_reading final : public poll_actor {
public:
  table_reading(caf::actor_config& config, std::shared_ptr<sources::table_reader> reader,
                std::shared_ptr<actor_stats> stats);

  const char* name() const override { return "cdc.reader"; }

private:
  result<void> run() override;
  void ended() noexcept override;

  void handle_messages(bool waits);
  caf::result<sources::view> on_range(const range_order& order);
  void on_rows_wanted(const rows_wanted& more);
  caf::result<done_atom> on_close(const range_close& order);
  void on_shape(const shape_order& order);

  /// Copies the open range's next block.
  void copy();
  [[nodiscard]] bool copies() const noexcept { return open_ && wanted_ > 0 && !at_end_; }

  std::shared_ptr<sources::table_reader> reader_;
  std::shared_ptr<actor_stats> stats_;

  std::optional<attempt> open_;   ///< The range whose transaction is open.
  caf::strong_actor_ptr orderer_; ///< Who gets its rows.
  std::uint32_t wanted_ = 0;
  bool at_end_ = false;
  bool is_stopped_ = false;
};

} // namespace cdc::actors
