#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/relation.hpp"

namespace cdc {

/// One column of a target: a source column under its target name, or a constant.
struct target_column {
  std::string name{};
  std::optional<std::uint16_t> source{}; ///< Index into relation::columns; none for a constant.
  std::string constant{};                ///< Its text, for a constant.
  kind what = kind::text;                ///< Of the source column, or of the constant.
  bool is_key = false;
};

/// One target table as one source shape is written to it: projection, renames and constants are
/// decided here, once per shape, so that they cost nothing per row.
struct target_table {
  std::string name; ///< `into`; `schema.name` never joined for identity.
  relation_ptr source;
  std::vector<target_column> columns;
  std::vector<std::uint16_t> key; ///< Indexes into columns, in key order. Empty: keyless.
  bool append_only = false;       ///< Keyless and insert-only.
  std::string mapping_file{};     ///< Document targets: how the index is made; empty: derived.
  std::string pipeline{};         ///< Document targets: the ingest pipeline; empty: none.
};

using target_table_ptr = std::shared_ptr<const target_table>;

} // namespace cdc
