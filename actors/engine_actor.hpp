#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/interfaces.hpp"
#include "engine/engine.hpp"

namespace cdc::actors {

struct engine_options {
  incarnation life = 0;
  std::uint16_t branch = 0;
  credit window{16, std::uint64_t{8} << 20}; ///< Of the stream, and of the load.
  std::string pipeline;
  std::vector<relation_ptr> shapes; ///< Of the engine's tables, in their order.
  /// Makes the target of a shape; null for a table that no section takes.
  std::function<result<target_table_ptr>(const relation_ptr&)> map;
  std::shared_ptr<actor_stats> stats;
  std::shared_ptr<sink_stats> counts;
  std::shared_ptr<pipeline_stats> pipeline_counts;
};

/// Feeds one sink from the engine, and pays its senders back as the sink lets go.
class engine_actor_state {
public:
  static constexpr const char* name = "cdc.engine";

  explicit engine_actor_state(engine_actor::pointer self) : self_(self) {}

  engine_actor::behavior_type start(std::shared_ptr<engine::engine> core, sink_actor sink,
                                    engine_options options);

private:
  using done_promise = caf::typed_response_promise<done_atom>;
  struct sent {
    std::int64_t commit_time = 0; ///< Of its last transaction; 0: it has none.
  };
  enum class phase : std::uint8_t {
    open,
    draining, ///< Takes nothing; waits for what the sink has.
    sealing,  ///< The last, durable batch is at the sink.
    sealed,
  };

  void on_shipment(const shipment& next);
  done_atom on_wave(const wave& opened);
  engine::verdict on_view(const range_view& offered);
  void on_rows(const range_rows& copied);
  void on_range_end(const range_end& ended);
  engine::verdict on_found(const found_key& found);
  void on_coordinator(const load_coordinator_actor& who);
  void on_checkpoint(const checkpoint_actor& who);
  done_promise on_finish();
  void on_report(const write_report& report);
  void on_prepared(const relation_ptr& shape, const target_table_ptr& target);

  void pump();
  void learn_shapes();
  void introduce(const relation_ptr& shape);
  [[nodiscard]] bool is_loading(const relation& shape) const;
  void feed_sink();
  void submit(batch_ptr next);
  void pay_senders();
  void tell_coordinator();
  void tell_checkpoint();
  void go_on_finishing();
  void show();
  void fail(const error& why);
  [[nodiscard]] bool is_stale(incarnation life, era of) noexcept;

  engine_actor::pointer self_;
  std::shared_ptr<engine::engine> core_; // Ours alone; shared only to be passed through a spawn.
  sink_actor sink_;
  engine_options options_;

  caf::strong_actor_ptr source_;
  load_coordinator_actor coordinator_;
  checkpoint_actor checkpoint_;

  phase phase_ = phase::open;
  bool source_is_empty_ = false;
  bool is_preparing_ = false;
  std::map<std::uint32_t, relation_ptr> shapes_;              // By OID, the last one of each.
  std::deque<sent> sent_;                                     // What the sink has not answered.
  std::deque<std::chrono::steady_clock::time_point> decoded_; // Of blocks not paid back yet.
  std::int64_t acknowledged_commit_ = 0;

  credit taken_; ///< Of the stream, and not paid back.
  credit_ledger stream_owed_{{}};
  credit_ledger load_owed_{{}};
  load_news news_;      // Collected until it is sent.
  load_news told_;      // Its waits_for and wants_proof, as last sent.
  positions positions_; // As last sent.
  std::uint64_t stale_ = 0;
  done_promise finished_;
};

/// Spawn with `system.spawn(engine_behavior, core, sink, options)`.
engine_actor::behavior_type engine_behavior(engine_actor::stateful_pointer<engine_actor_state> self,
                                            std::shared_ptr<engine::engine> core, sink_actor sink,
                                            engine_options options);

} // namespace cdc::actors
