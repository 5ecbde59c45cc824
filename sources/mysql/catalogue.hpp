#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/mysql/values/column_type.hpp"

namespace cdc::sources::mysql {

class connection;

/// What goes by a table's name.
struct listed_table {
  table_id table;
  std::string kind;   ///< TABLE_TYPE: `BASE TABLE`, `VIEW`, `SEQUENCE`, `SYSTEM VERSIONED`.
  std::string engine; ///< `InnoDB`

  [[nodiscard]] bool is_streamed() const noexcept {
    return kind == "BASE TABLE" || kind == "SYSTEM VERSIONED";
  }
};

/// What a shape's relation::detail is here.
struct logged_table final : relation_detail {
  std::vector<column_type> types; ///< One for each column of the shape.
};

[[nodiscard]] const logged_table& detail_of(const relation& shape) noexcept;

/// A number made of a table's names: relation::oid. A table that was dropped and made again has the
/// same.
[[nodiscard]] std::uint32_t oid_of(const table_id& table) noexcept;

/// The shapes of tables as information_schema has them now.
///
/// A relation's key is the primary key, else the first unique one without NULLs and without
/// prefixes, else empty. Every relation described in a process has a generation of its own, later
/// ones higher.
class catalogue {
public:
  explicit catalogue(connection& on) : on_(on) {}

  /// Null: there is no such table (any more).
  [[nodiscard]] result<relation_ptr> describe(std::uint32_t oid);
  [[nodiscard]] result<relation_ptr> describe(const table_id& table);

  /// All but the server's own, by schema and name.
  [[nodiscard]] result<std::vector<listed_table>> tables();

private:
  [[nodiscard]] result<std::vector<std::string>> json_columns(const table_id& table);
  [[nodiscard]] result<std::vector<std::string>> key_columns(const table_id& table);

  connection& on_;
};

/// A number above all that it gave before.
[[nodiscard]] std::uint32_t next_generation() noexcept;

/// `` `schema`.`name` ``
[[nodiscard]] std::string quote_table(const table_id& table);

} // namespace cdc::sources::mysql
