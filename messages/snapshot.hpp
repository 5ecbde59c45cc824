#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace cdc {

/// What a reader's snapshot can see, as PostgreSQL prints it: `xmin:xmax:xip,xip,…`.
///
/// Transactions below `xmin` are finished, those at or above `xmax` are not seen, those between are
/// seen unless they are listed. The numbers are 64 bit (xid8); a stream's 32-bit xid is compared
/// modulo 2^32, which is exact while it is less than 2^31 transactions away from `xmax`.
struct snapshot {
  std::uint64_t xmin = 0;
  std::uint64_t xmax = 0;
  std::vector<std::uint64_t> in_progress; ///< Ascending.

  /// True when a committed transaction's rows are certainly visible in this snapshot.
  [[nodiscard]] bool is_sure_of(std::uint32_t xid) const noexcept;

  bool operator==(const snapshot&) const = default;
};

/// Reads and writes the server's own form, `728:731:728,730`.
[[nodiscard]] result<snapshot> parse_snapshot(std::string_view text);
[[nodiscard]] std::string to_string(const snapshot& seen);

} // namespace cdc
