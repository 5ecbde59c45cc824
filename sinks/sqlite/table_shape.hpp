#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "sinks/sqlite/database.hpp"

namespace cdc::sinks::sqlite {

struct existing_column {
  std::string name;
  std::string type;
  std::string collation; ///< BINARY unless the table says otherwise.
  bool not_null = false;
  bool has_default = false;
  bool is_generated = false;
  int key_position = 0; ///< From 1, in the PRIMARY KEY; 0: not part of it.
};

/// A unique index or primary key: the names of its columns, in its order.
struct existing_key {
  std::vector<std::string> columns;
  bool is_binary = true; ///< Every column compares byte for byte.
  bool is_primary = false;
  bool is_whole = true; ///< Over all rows, and over plain columns only.
};

/// A table as the database describes it.
struct existing_table {
  std::string name; ///< As it was created: letters of either case.
  std::string what; ///< table, view, virtual.
  bool is_strict = false;
  bool is_without_rowid = false;
  std::vector<existing_column> columns;
  std::vector<existing_key> unique; ///< The primary key included.

  [[nodiscard]] const existing_column* find(std::string_view column) const noexcept;
};

/// Nothing: there is no table, or view, of this name.
[[nodiscard]] result<std::optional<existing_table>> read_shape(database& db,
                                                               const std::string& name);

/// Names are equal to SQLite when their ASCII letters are, in either case.
[[nodiscard]] bool same_name(std::string_view one, std::string_view other) noexcept;

} // namespace cdc::sinks::sqlite
