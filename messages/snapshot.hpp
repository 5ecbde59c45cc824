#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/transaction_id.hpp"

namespace cdc {

/// What a reader's snapshot can see: some of a source's transactions. Two forms.
///
/// PostgreSQL's own, as it prints it, `xmin:xmax:xip,xip,…`: transactions below `xmin` are
/// finished, those at or above `xmax` are not seen, those between are seen unless they are listed.
/// The numbers are 64 bit (xid8); a stream's 32-bit xid is compared modulo 2^32, which is exact
/// while it is less than 2^31 transactions away from `xmax`.
///
/// All others: the runs of ids that it sees. It is in this form when there is a run; one that sees
/// nothing has the run of 0, which no transaction is named.
struct snapshot {
  struct run {
    transaction_id first = 0;
    transaction_id last = 0;

    bool operator==(const run&) const = default;
  };

  std::uint64_t xmin = 0;
  std::uint64_t xmax = 0;
  std::vector<std::uint64_t> in_progress{}; ///< Ascending.

  std::vector<run> runs{}; ///< Ascending, apart.

  /// True when a committed transaction's rows are certainly visible in this snapshot.
  [[nodiscard]] bool is_sure_of(transaction_id id) const noexcept;
  /// Of two snapshots of one server, one sees all that the other does: true when it is this one.
  [[nodiscard]] bool has_seen_no_less_than(const snapshot& other) const noexcept;

  bool operator==(const snapshot&) const = default;
};

/// Reads and writes PostgreSQL's form, `728:731:728,730`, or the runs, `[1-5,17,20-31]`.
[[nodiscard]] result<snapshot> parse_snapshot(std::string_view text);
[[nodiscard]] std::string to_string(const snapshot& seen);

} // namespace cdc
