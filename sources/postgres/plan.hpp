#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/load.hpp"
#include "messages/relation.hpp"

namespace cdc::sources::postgres {

class connection;

/// A key column as SQL needs it.
struct key_column {
  std::string type;      ///< As a cast: `character varying(10)`, `public.citext`.
  std::string operators; ///< The schema of its comparison operators.
  bool is_not_null = false;
  bool is_indexed = false; ///< A btree index begins with the whole key, in its order.
};

/// What reading a table needs to know beside its shape.
struct stored_table {
  bool is_partitioned = false;
  std::uint64_t pages = 0;
  /// By the server's statistics, scaled to the table's size of now; below zero: never analysed.
  double rows_estimate = -1;
  std::vector<key_column> key;

  /// Ranges by key can be read without scanning the whole table for each, and cover every row.
  [[nodiscard]] bool has_key_order() const noexcept;
};

[[nodiscard]] result<stored_table> read_stored_table(connection& on, const relation& shape);

/// Divides a table into ranges of about `chunk_rows` rows: by quantiles of the key over a sample of
/// its pages, by page where the key gives no order, and not at all if it has no key or is small.
[[nodiscard]] result<load_plan> make_plan(connection& on, const relation& shape,
                                          const stored_table& stored, std::uint32_t chunk_rows);

/// Which scheme a division by key has: the engine can order integers and uuids itself.
[[nodiscard]] range_scheme scheme_of(const relation& shape) noexcept;

/// `FROM …`: a partitioned table with its leaves, any other without the tables that inherit from
/// it, whose rows the stream brings as their own.
[[nodiscard]] std::string from_clause(const relation& shape, const stored_table& stored);

/// The condition of a range, or nothing for an open one.
[[nodiscard]] std::string where_clause(const relation& shape, const stored_table& stored,
                                       bool by_page, const load_range& range);

/// The condition of one row by its key: $1, $2 …, in key order.
[[nodiscard]] std::string where_key(const relation& shape, const stored_table& stored);

/// Page ranges of `pages_each` pages; the last one is open.
[[nodiscard]] std::vector<load_range> page_ranges(std::uint64_t pages, std::uint64_t pages_each);

/// Ranges between bounds, which ascend; equal neighbours are one bound.
[[nodiscard]] std::vector<load_range>
key_ranges(const std::vector<std::vector<std::string>>& bounds);

} // namespace cdc::sources::postgres
