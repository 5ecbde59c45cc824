#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "messages/relation.hpp"

namespace cdc::sources::mysql {

/// What a statement in the log means to a reader of rows.
struct statement {
  enum class kind : std::uint8_t {
    other,
    begin,
    commit,
    rollback, ///< The whole transaction; one to a savepoint is `other`.
    xa_start,
    xa_commit,
    xa_rollback,
    truncate,    ///< tables[0]
    create,      ///< tables[0], which is empty now.
    alter,       ///< tables[0], and those it names beside it.
    drop,        ///< All tables.
    rename,      ///< All tables, old names and new ones.
    drop_schema, ///< tables[0].schema
    partition,   ///< tables[0] lost or won rows with a partition.
    change_rows, ///< tables are those it may write to.
  };
  kind what = kind::other;
  std::vector<table_id> tables{};
};

/// Reads the words at the beginning, no more of SQL than names need. `schema` is the session's own;
/// `ansi_quotes`: `"` quotes names. What is not understood is `other`.
[[nodiscard]] statement read_statement(std::string_view text, std::string_view schema,
                                       bool ansi_quotes);

} // namespace cdc::sources::mysql
