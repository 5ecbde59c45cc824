#pragma once

#include <vector>

#include "tests/simulation/target.hpp"

namespace cdc::simulation {

/// A transactional table target: every batch in one transaction with its checkpoint, by the load
/// rule's TABLE TARGET. Rows that a target transaction still holds open are seen by nobody, and a
/// dead process's transaction finds that the epoch has moved on.
class table_target final : public target {
public:
  using target::target;

  [[nodiscard]] sink_state open() override;
  bool work(std::uint8_t which) override;
  bool receive_late(std::uint8_t which) override;
  void lose_power() override { committed_ = durable_; }
  bool remove_by_hand(std::size_t table, std::size_t key) override;
  [[nodiscard]] bool is_inside() const override { return is_open_; }
  [[nodiscard]] bool keeps_to_checkpoint() const override { return true; }
  [[nodiscard]] const target_state& state() const override { return committed_; }
  [[nodiscard]] std::optional<checkpoint> durable() const override { return durable_.reached; }

private:
  /// Whose batches are taken: the epoch and the checkpoint this session last saw.
  struct session {
    std::uint64_t epoch = 0;
    std::optional<checkpoint> reached;
  };

  void on_process_lost(std::uint8_t which) override;
  [[nodiscard]] std::optional<write_report> write(const batch& work, session& by);
  void write(const row_write& what, write_report& into);
  void write_keyless(const row_write& what, write_report& into);
  void write_keyed(const row_write& what, write_report& into);
  void truncate(const row_write& what);
  void put(std::size_t table, const image& what, std::uint64_t version);
  void remove(std::size_t table, std::size_t key, std::uint64_t version);
  void answer(const row_write& what, bool found, write_report& into);
  void set_version(std::size_t table, std::size_t key, std::uint64_t version);
  void commit(const batch& work, session& by, write_report& into);

  target_state committed_;
  target_state open_;
  target_state durable_;
  bool is_open_ = false;
  std::uint64_t epoch_ = 0;
  session session_;
  std::vector<std::pair<session, batch_ptr>> dead_;
};

} // namespace cdc::simulation
