#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/batcher.hpp"
#include "engine/engine.hpp"
#include "engine/gate.hpp"
#include "engine/load_rule.hpp"
#include "engine/routes.hpp"
#include "engine/tracked_table.hpp"

namespace cdc::engine {

/// A block of the log that waits for its turn, or that the stream stands in.
struct stream_input {
  block_ptr rows;
  std::size_t next = 0; ///< The event that comes next.
};

/// One range of the open wave, with its rows that the stream has not passed yet.
struct range_lane {
  range_ref range;
  std::deque<block_ptr> rows;
  bool is_read = false; ///< All its rows were handed over.
};

/// The ranges that are read at once.
struct open_wave_state {
  enum class stage : std::uint8_t {
    none,
    reading,
    marked,    ///< All ended; the mark has been sent.
    answered,  ///< All answers are in; progress is to be written.
    recording, ///< Progress is on its way.
  };
  stage at = stage::none;
  std::vector<range_lane> lanes;
  tracked_table* keyless = nullptr; ///< §1b: the only table, and the stream stands for it.
  std::uint64_t mark = 0;           ///< The number whose acknowledgement answers the mark.
};

/// The engine behind its interface: who calls whom, and what waits for what. The parts decide.
///
/// Invariant: durable <= acknowledged <= written, and what a checkpoint covers was sent before it.
class engine::state {
public:
  state(engine_options options, std::vector<table_setup> tables, const sink_state& at_target,
        start_point start, rule_switches rule);

  // -- the stream (stream.cpp) ------------------------------------------------------------------
  result<void> stream(block_ptr next);
  result<void> provide(const relation_ptr& shape, target_table_ptr target);

  // -- the load (load.cpp) ----------------------------------------------------------------------
  void planned(std::uint16_t table, load_plan plan);
  void open_wave(std::span<const range_ref> ranges);
  verdict hand_over(range_ref range, const snapshot& seen, position log_end);
  void rows(range_ref range, block_ptr copied);
  void end_range(range_ref range);
  void lose_range(range_ref range);
  verdict hand_over(std::uint16_t table, const std::string& key, const snapshot& seen,
                    position log_end, block_ptr row);
  void prove(const snapshot& seen);
  bool wants_proof() const;
  std::optional<position> waits_for() const;

  // -- the sink (engine.cpp) --------------------------------------------------------------------
  result<batch_ptr> next_batch(bool source_is_empty);
  result<void> completed(const write_report& report);
  void ask_durable();

  table_progress progress(const tracked_table& table) const;
  std::size_t entries() const;
  std::size_t listed() const;

  std::vector<news> news_;
  credit stream_credit_;
  credit load_credit_;
  accounting streamed_;
  accounting copied_;
  checkpoint written_;
  checkpoint acknowledged_;
  position durable_;
  position passed_;
  relation_ptr unknown_;
  std::vector<std::unique_ptr<tracked_table>> tables_;
  std::deque<outgoing> outstanding_;
  bool load_finished_ = false;
  bool sink_is_inside_ = false; ///< Of a transaction whose first pieces it has.

private:
  // -- engine.cpp
  void restore(std::vector<table_setup> tables, const sink_state& at_target);
  void pump();
  void at_boundary();
  void send_durable();
  void send(outgoing& next);
  void take_answers(const outgoing& done, const write_report& report);
  void take_refusals(const outgoing& done, const write_report& report);
  void count(const outgoing& done);
  void give_back(const std::vector<lease>& leases);
  result<void> advance_positions(const outgoing& done, const write_report& report);
  void settle_positions();
  void sweep(bool is_due);
  [[nodiscard]] result<void> failure() const;

  // -- stream.cpp
  [[nodiscard]] bool can_run() const noexcept;
  bool resolve(const block& rows, std::vector<route*>& out);
  void run_input();
  result<void> run(stream_input& in);
  void begin(const transaction& started);
  void commit(const transaction& ended);
  result<void> change(const event& what, route& to);
  result<void> change_carefully(const event& what, route& to);
  result<void> update(const event& what, route& to);
  result<void> change_keyless(const event& what, route& to);
  [[nodiscard]] bool lacks_columns(const event& what, const route& of, row_images row) const;
  [[nodiscard]] bool lacks_key(const route& of, row_images row) const;
  [[nodiscard]] bool is_moved(const route& of, row_images row) const;
  [[nodiscard]] const block& rows_of(row_images row) const;
  row_images filled(const event& what, const route& of, row_images row);

  // -- load.cpp
  void abandon_wave();
  [[nodiscard]] range_lane* lane_of(range_ref range);
  [[nodiscard]] bool may_pass(const range_lane& lane) const;
  void release_rows();
  bool copy_block(tracked_table& table, const snapshot& seen, const block_ptr& rows);
  void copy_row(const event& what, route& to, const snapshot& seen);
  void release_refetches();
  void drop_refetch(tracked_table& table, const std::string& key, const block_ptr& row);
  bool finish_refetch(tracked_table& table, const std::string& key, refetch& item);
  void ask_refetches();
  void drop_rows(range_lane& lane);
  void work_on_wave();
  void end_ranges();
  void end_keyless();
  void close_wave();
  void record_progress();
  void finish_wave();
  void forget_snapshots();
  void pause_for_keyless();
  verdict hand_over_keyless(tracked_table& table, const snapshot& seen, position log_end);
  void begin_map_anew();
  void bound_map();

  engine_options options_;
  rule_switches rule_;
  checkpoint from_;
  routes routes_;
  batcher out_;
  gate gate_;
  load_rule load_;

  std::deque<stream_input> input_;
  std::vector<route*> routes_now_; ///< Of the block the stream is in, by relation.
  std::vector<route*> routes_copied_;
  bool is_blocked_ = false;    ///< The first block of the input has a shape without a target.
  bool is_paused_ = false;     ///< §1b: the stream stands between transactions.
  bool is_superseded_ = false; ///< The transaction is below the resume position.
  bool is_touched_ = false;    ///< The gate knows of the transaction.
  bool work_is_due_ = false;   ///< Something waits for the end of the transaction.

  open_wave_state wave_;
  bool pause_is_wanted_ = false;
  std::vector<std::pair<tracked_table*, std::string>>
      held_; ///< Refetches that wait for the stream.
  bool refetches_are_due_ = false;
  std::size_t refetches_out_ = 0;
  std::size_t map_bytes_now_max_ = 0;

  std::uint64_t batches_ = 0;
  std::uint64_t acknowledged_number_ = 0;
  std::optional<checkpoint> stored_; ///< The last one a batch carried.
  position durable_sent_;
  bool durable_is_wanted_ = false;
  std::vector<record> records_; ///< For the next batch.
  std::optional<error> failed_;
};

} // namespace cdc::engine
