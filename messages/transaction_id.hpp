#pragma once

#include <cstdint>

namespace cdc {

/// Names a transaction to the snapshots of its source, in this life of a pipeline and in the next.
/// Opaque outside sources/. PostgreSQL: the top-level xid, 32 bit. MariaDB: the token of the
/// commit's position. MySQL: made of its GTID. Never 0 but on PostgreSQL.
using transaction_id = std::uint64_t;

} // namespace cdc
