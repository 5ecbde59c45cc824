#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/load.hpp"
#include "messages/relation.hpp"
#include "sources/mysql/ranges.hpp"
#include "sources/mysql/values/column_type.hpp"

namespace cdc::sources::mysql {

class connection;

/// What reading a table needs to know beside its shape.
struct stored_table {
  std::vector<column_type> types; ///< One for each column of the shape.
  std::string engine;             ///< `InnoDB`
  bool is_transactional = true;   ///< Its rows can be seen in a snapshot.
  std::string index;              ///< A unique one over the key alone, in its order; empty: none.
  /// The leading columns of that index whose values can bound a range.
  std::vector<key_part> ordered;

  /// What is selected, in the shape's order.
  [[nodiscard]] std::string column_list(const relation& shape) const;
  /// ` FROM …`, with the index that ranges are read by.
  [[nodiscard]] std::string from_clause(const relation& shape) const;
};

/// errc::source_misconfigured when the table, or a column of the shape, is not there any more.
[[nodiscard]] result<stored_table> read_stored_table(connection& on, const relation& shape);

/// How a key column of this type bounds a range.
[[nodiscard]] key_part make_key_part(const std::string& name, const column_type& type);

/// Divides a table into ranges of about `chunk_rows` rows: by the server's estimates where the key
/// begins with an integer, by walking along the index where it begins with anything else that has an
/// order, and not at all where there is none.
[[nodiscard]] result<load_plan> make_plan(connection& on, const relation& shape,
                                          const stored_table& stored, std::uint32_t chunk_rows);

} // namespace cdc::sources::mysql
