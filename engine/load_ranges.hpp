#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "engine/entry_map.hpp"
#include "engine/gate.hpp"
#include "engine/key_space.hpp"
#include "messages/load.hpp"
#include "messages/relation.hpp"

namespace cdc::engine {

/// How far one range is. In the words of the load rule, with what comes after `ended` told apart.
enum class range_phase : std::uint8_t {
  unopened,
  open,     ///< A snapshot may be taken; none is known.
  reading,  ///< Its snapshot and log end are known.
  ended,    ///< Its rows have all been sent.
  answered, ///< The wave's mark is acknowledged.
  finished, ///< Durably.
};

/// The ranges of one table, and what they mean for the entry of a key. `range` is a number of
/// range_of(); key_space::any stands for all of them.
///
/// Until it is planned, a table is one unopened range that may hold any key.
class load_ranges {
public:
  explicit load_ranges(rule_switches rule) : rule_(rule) {}

  void plan(const relation& shape, load_plan plan, const std::vector<bool>& done);
  [[nodiscard]] bool is_planned() const noexcept { return !each_.empty(); }
  [[nodiscard]] const load_plan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::size_t size() const noexcept { return each_.size(); }

  void open(std::uint32_t range);
  void close(std::uint32_t range); ///< Unopened again; not after its mark.
  void read(std::uint32_t range, const snapshot& seen, position log_end);
  void end(std::uint32_t range);
  void mark(std::uint32_t range); ///< Its wave's mark has been sent.
  void answer(std::uint32_t range);
  void finish(std::uint32_t range);
  /// The map was begun anew: whatever has no mark is unopened.
  void begin_anew();

  [[nodiscard]] range_phase phase(std::uint32_t range) const { return each_[range].phase; }
  [[nodiscard]] const snapshot& seen(std::uint32_t range) const { return each_[range].seen; }
  [[nodiscard]] position log_end(std::uint32_t range) const { return each_[range].log_end; }
  [[nodiscard]] std::vector<bool> done() const;

  [[nodiscard]] std::uint32_t range_of(std::string_view key) const;

  /// A range of the table has not ended.
  [[nodiscard]] bool any_left() const noexcept { return each_.empty() || left_ > 0; }
  [[nodiscard]] bool all_finished() const noexcept { return !each_.empty() && finished_ == size(); }
  [[nodiscard]] bool any_unopened() const noexcept { return each_.empty() || unopened_ > 0; }
  /// A range that may hold the key has not ended.
  [[nodiscard]] bool is_left(std::uint32_t range) const;
  /// closed(k): nothing of the load will bring the row any more.
  [[nodiscard]] bool is_closed(std::uint32_t range) const;
  [[nodiscard]] bool all_closed() const noexcept { return !each_.empty() && marked_ == size(); }
  /// What the ranges say to an entry's leaving.
  [[nodiscard]] bool let_go(std::uint32_t range, entry_state state, transaction_id last,
                            const gate& proofs) const;

private:
  struct one {
    range_phase phase = range_phase::unopened;
    bool is_marked = false;
    snapshot seen;
    position log_end;
  };

  void move(std::uint32_t range, range_phase to);
  [[nodiscard]] bool let_go_of_one(const one& range, entry_state state, transaction_id last,
                                   const gate& proofs) const;
  [[nodiscard]] bool let_go_of_any(entry_state state, transaction_id last,
                                   const gate& proofs) const;
  [[nodiscard]] bool unopened_lets_go(transaction_id last, const gate& proofs) const;

  rule_switches rule_;
  load_plan plan_;
  key_space space_;
  std::vector<one> each_;
  std::vector<std::uint32_t> reading_;
  std::size_t unopened_ = 0;
  std::size_t open_ = 0;
  std::size_t left_ = 0;  ///< Not ended.
  std::size_t ended_ = 0; ///< Ended, the mark not yet acknowledged.
  std::size_t marked_ = 0;
  std::size_t finished_ = 0;
};

} // namespace cdc::engine
