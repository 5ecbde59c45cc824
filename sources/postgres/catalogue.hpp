#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/postgres/types.hpp"

namespace cdc::sources::postgres {

class connection;

/// What goes by a table's name.
struct listed_table {
  std::uint32_t oid = 0;
  table_id table;
  char kind = 'r'; ///< relkind: r table, p partitioned, v view, m materialized, f foreign.
  bool is_partition = false; ///< Its rows are published as its root's.
  bool is_logged = true;     ///< Neither temporary nor unlogged.

  /// A pattern takes base tables and the roots of partitioned ones.
  [[nodiscard]] bool is_streamed() const noexcept {
    return (kind == 'r' || kind == 'p') && is_logged;
  }

  bool operator==(const listed_table&) const = default;
};

/// The shapes of tables, as the stream of `publications` has them: without the columns that a
/// publication's column list leaves out, and with generated columns only where they are published
/// (PostgreSQL 18).
///
/// A relation's key is the primary key as long as the replica identity covers it; otherwise the
/// identity's own columns, since an old row is named by nothing else; otherwise empty. Every
/// relation described in a process has a generation of its own, later ones higher.
class catalogue {
public:
  catalogue(connection& on, std::vector<std::string> publications);

  /// Null: there is no such table (any more).
  [[nodiscard]] result<relation_ptr> describe(std::uint32_t oid);
  [[nodiscard]] result<relation_ptr> describe(const table_id& table);

  /// All of the database but the server's own, by schema and name.
  [[nodiscard]] result<std::vector<listed_table>> tables();

  [[nodiscard]] const type_catalogue& types() const noexcept { return types_; }

private:
  [[nodiscard]] result<relation_ptr> describe_where(const std::string& condition,
                                                    std::vector<std::string> parameters);

  connection& on_;
  std::vector<std::string> publications_;
  type_catalogue types_;
};

/// The columns of `names` as SQL takes them: `"a", "b"`.
[[nodiscard]] std::string column_list(const relation& shape);

/// `"schema"."name"`.
[[nodiscard]] std::string quote_table(const table_id& table);

/// A text array as a parameter: `{"a","b"}`, whatever the elements hold.
[[nodiscard]] std::string text_array(const std::vector<std::string>& elements);

} // namespace cdc::sources::postgres
