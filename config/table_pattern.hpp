#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "messages/relation.hpp"

namespace cdc::config {

/// A table's name as a person writes it: `schema.table`, either part in double quotes when it holds
/// a dot, a star or a quote (then doubled). Nothing when it is not of this form or holds a star.
[[nodiscard]] std::optional<table_id> parse_table_name(std::string_view text);

/// `schema.table` as parse_table_name() reads it back.
[[nodiscard]] std::string write_table_name(const table_id& table);

/// The same with `*` for any characters, and a leading `!` for all but those.
struct table_pattern {
  bool excludes = false;
  std::string schema; ///< A NUL stands for `*`: no name holds one.
  std::string name;

  [[nodiscard]] bool matches(std::string_view in_schema, std::string_view called) const noexcept;
};

[[nodiscard]] std::optional<table_pattern> parse_table_pattern(std::string_view text);

} // namespace cdc::config
