#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/block.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/target_table.hpp"

namespace cdc {

enum class action : std::uint8_t {
  upsert,  ///< The whole row in `after`; `before` where the log had it. Its key leaves the list.
  remove,  ///< By the key in `before` (any image that has the key). Its key leaves the list.
  partial, ///< The present cells of `after`, key included. No row: answer missing.
  move, ///< Key of `before` → row of `after`, absent cells kept from the old row. No row: missing.
  insert,   ///< Keyless tables: one more row.
  erase,    ///< Keyless tables: one of the rows equal to `before`. None there: an alarm, counted.
  truncate, ///< Every row, and every listed key, of `table`.
  forget,   ///< The key in `before` leaves the refetch list; no row is touched.
};

/// One operation on one target. Cells are where the source put them: `block` indexes batch::blocks.
struct change {
  static constexpr std::uint32_t none = 0xffff'ffff;

  action what = action::upsert;
  bool keep_if_missing = false;        ///< partial, move: no row there puts the key on the list.
  bool is_copy = false;                ///< A row of the initial load, not of the stream.
  operation event = operation::update; ///< What the source did to its row; stream targets say it.
  std::uint16_t table = 0;             ///< Index into batch::tables.
  std::uint32_t block = 0;
  std::uint32_t before = none;      ///< First cell of the old image.
  std::uint32_t after = none;       ///< First cell of the new image.
  std::uint32_t transaction = none; ///< Index into batch::transactions; none for a copy.
  std::uint64_t number = 0;         ///< `no` of the load rule: ascending within one incarnation.
  std::uint64_t version = 0;        ///< `v` of the load rule; table targets do not use it.
};

/// What one write to a target carries, in order. Immutable once submitted.
///
/// A table target writes it in one target transaction with its checkpoint, records and list. When
/// `ends_transaction` is false the source's transaction goes on in the next batch: the target's own
/// stays open, and a teardown rolls it back.
struct batch {
  std::uint64_t number = 0;      ///< 1, 2, 3 … in one incarnation.
  std::vector<block_ptr> blocks; ///< Keeps every cell alive.
  std::vector<target_table_ptr> tables;
  std::vector<transaction> transactions;
  std::vector<change> changes;
  bool ends_transaction = true;
  std::optional<checkpoint>
      reaches; ///< The checkpoint this batch moves to. Needs ends_transaction.
  std::vector<record> records;
  std::vector<listed_key> listed; ///< Keys that PROGRESS puts on the list durably.
  bool is_durable = false;        ///< Its checkpoint must survive a power loss when completed.

  [[nodiscard]] bool empty() const noexcept {
    return changes.empty() && !reaches && records.empty() && listed.empty();
  }
};

using batch_ptr = std::shared_ptr<const batch>;

/// What a target says to the operations that ask: partial and move.
struct answer {
  std::uint64_t number = 0; ///< change::number.
  bool found = false;
};

/// A row the target refused for good.
struct refusal {
  std::uint64_t number = 0;
  std::string reason;          ///< Never the row's values.
  bool is_quarantined = false; ///< It is kept aside at the target, and the stream goes on.
};

struct write_report {
  std::uint64_t batch = 0;       ///< batch::number.
  std::vector<answer> answers{}; ///< In order of their operations.
  std::vector<refusal> refused{};
  std::uint64_t not_found = 0;       ///< Erases that found no row.
  std::optional<position> durable{}; ///< Resume position that now survives a power loss.
};

using completion = std::function<void(result<write_report>)>;

} // namespace cdc
