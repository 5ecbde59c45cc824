#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/entry_map.hpp"
#include "engine/load_ranges.hpp"
#include "engine/refetch_list.hpp"
#include "messages/snapshot.hpp"
#include "messages/target_table.hpp"

namespace cdc::engine {

/// TRUNCATE leaves the entry `gone` for every key: one for the table.
struct table_wide_gone {
  bool is_on = false;
  bool only_closed = false; ///< The map was begun anew since: it holds for marked ranges only.
  transaction_id last = 0;
  std::uint64_t number = 0;
};

/// Where a table without a key stands (load-rule §1b).
struct keyless_load {
  enum class stage : std::uint8_t {
    unloaded, ///< Its changes are left out.
    waiting,  ///< The stream stands; no snapshot yet.
    reading,  ///< Its rows go out.
    loaded,   ///< Its changes pass, but for what `seen` has.
  };
  stage at = stage::unloaded;
  std::vector<transaction_id>
      required;                 ///< What its snapshot must have seen, fixed when the stream stood.
  std::optional<snapshot> seen; ///< Kept until the checkpoint has reached `until`.
  position until;

  /// A change of this transaction is applied; otherwise the copied rows have it, or will.
  [[nodiscard]] bool takes(transaction_id id) const noexcept {
    return at == stage::loaded && !(seen && seen->is_sure_of(id));
  }
};

/// One table of the target, with all that the load rule knows of it.
struct tracked_table {
  tracked_table(std::uint16_t index, target_table_ptr of, rule_switches rule)
      : number(index), target(std::move(of)), ranges(rule) {
    // nop
  }

  std::uint16_t number;
  target_table_ptr target;        ///< As it stood at the start.
  std::uint32_t published_by = 0; ///< As in table_setup.
  load_ranges ranges;
  entry_map entries;
  table_wide_gone all_gone;
  refetch_list list;
  keyless_load keyless;
  std::size_t swept_to = 0; ///< Entries that the last sweep left.
  /// No row of the stream concerns the load rule: it is passed on as it is.
  bool is_quiet = false;

  [[nodiscard]] bool is_keyless() const noexcept { return target->key.empty(); }
  void settle() noexcept {
    is_quiet = is_keyless()
                   ? keyless.at == keyless_load::stage::loaded && !keyless.seen
                   : !ranges.any_left() && entries.empty() && !all_gone.is_on && list.empty();
  }
};

} // namespace cdc::engine
