#pragma once

#include <compare>
#include <cstdint>

namespace cdc {

/// A place in a source's log. Opaque outside sources/: only order and equality mean anything.
/// PostgreSQL: the LSN. MySQL: a token made of file number and offset. Always below 2^51.
struct position {
  std::uint64_t token = 0;

  auto operator<=>(const position&) const = default;
};

} // namespace cdc
