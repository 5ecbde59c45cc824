#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "tests/simulation/target.hpp"

namespace cdc::simulation {

/// A target without transactions that compares versions: each operation is a request or two of its
/// own, many are open at once, and an older version is refused. By the load rule's DOCUMENT TARGET.
/// Requests of a dead process may arrive long after it.
class document_target final : public target {
public:
  using target::target;

  [[nodiscard]] sink_state open() override;
  bool work(std::uint8_t which) override;
  bool receive_late(std::uint8_t which) override;
  void lose_power() override {}
  bool remove_by_hand(std::size_t table, std::size_t key) override;
  [[nodiscard]] bool is_inside() const override { return is_inside_; }
  [[nodiscard]] bool keeps_to_checkpoint() const override { return false; }
  [[nodiscard]] const target_state& state() const override { return stored_; }
  [[nodiscard]] std::optional<checkpoint> durable() const override { return stored_.reached; }

private:
  void on_process_lost(std::uint8_t which) override;
  /// A write that is on its way to the target.
  struct request {
    std::size_t table = 0;
    std::size_t key = 0;
    row made; ///< Not there: a tombstone.
    std::uint64_t version = 0;
  };
  /// One change, from when it is submitted until the target has all of it.
  struct operation_under_way {
    row_write what;
    bool has_read = false;
    std::vector<request> writes; ///< Left to be done, in any order.
    std::optional<bool> found;
  };
  /// A batch with what is not done of it.
  struct batch_under_way {
    batch_ptr work;
    std::vector<operation_under_way> operations; ///< All of it, in order.
    std::vector<bool> is_done;
  };

  [[nodiscard]] std::vector<operation_under_way*> ready();
  void take_batches();
  void advance(operation_under_way& one, std::uint8_t which);
  void read_then_plan(operation_under_way& one);
  void plan_partial(operation_under_way& one);
  void plan_move(operation_under_way& one);
  void change_list(const operation_under_way& one);
  bool complete_batch();
  void write(const request& what);
  [[nodiscard]] static bool share_rows(const row_write& a, const row_write& b);

  target_state stored_; ///< Documents, and the state document's position, list and records.
  flags exists_{};      ///< A document or its tombstone is there: its version counts.
  flags listed_{};      ///< As this life knows it; stored with the state document.
  std::deque<batch_under_way> batches_;
  std::vector<request> late_;
  bool is_inside_ = false;
  std::uint64_t epoch_ = 0;
};

} // namespace cdc::simulation
