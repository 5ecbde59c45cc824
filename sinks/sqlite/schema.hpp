#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/target_table.hpp"
#include "sinks/sqlite/table_shape.hpp"

namespace cdc::sinks::sqlite {

struct schema_options {
  bool numeric_as_number = false;
  bool add_columns = false; ///< A column that appears later is added; otherwise it is left out.
};

/// CREATE TABLE of a table that is ours: STRICT, compared byte for byte, with the key as primary
/// key and no other constraint, since the source may drop any of its own.
[[nodiscard]] std::string create_sql(const target_table& table, const schema_options& options);

/// Why SQLite cannot have columns of these names side by side, and what to do; empty: it can.
[[nodiscard]] std::string name_obstacle(const target_table& table);

/// What a table lacks, by column.
struct shape_gap {
  std::vector<std::uint16_t> missing; ///< Indexes into target_table::columns: no such column.
  std::vector<std::uint16_t> narrow;  ///< There, but its type cannot keep every value.
  std::vector<std::string> mistakes;  ///< Anything else that would refuse rows, in words.

  [[nodiscard]] bool none() const noexcept;
};

[[nodiscard]] shape_gap compare(const existing_table& have, const target_table& want,
                                const schema_options& options);

/// Whether a table that held the stream's rows before can go on: what it lacks is left out, or with
/// `add_columns` added or widened.
[[nodiscard]] bool is_closable(const shape_gap& gap, const target_table& want,
                               const schema_options& options);

/// The gap as one sentence that names every column. `is_known`: the table held the stream's rows
/// before, so that the sentence names the option that would close it.
[[nodiscard]] std::string describe(const shape_gap& gap, const existing_table& have,
                                   const target_table& want, const schema_options& options,
                                   bool is_known);

[[nodiscard]] std::string add_column_sql(const target_table& table, std::uint16_t column,
                                         const schema_options& options);

/// Gives a column that is not of the key the type ANY, and keeps what is in it.
[[nodiscard]] std::string widen_column_sql(const target_table& table, std::uint16_t column);

} // namespace cdc::sinks::sqlite
