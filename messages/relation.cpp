#include "messages/relation.hpp"

#include <algorithm>

namespace cdc {

std::string_view to_string(kind what) noexcept {
  switch (what) {
    case kind::boolean:
      return "boolean";
    case kind::integer:
      return "integer";
    case kind::floating:
      return "floating";
    case kind::decimal:
      return "decimal";
    case kind::text:
      return "text";
    case kind::json:
      return "json";
    case kind::bytes:
      return "bytes";
    case kind::date:
      return "date";
    case kind::time:
      return "time";
    case kind::timestamp:
      return "timestamp";
    case kind::timestamptz:
      return "timestamptz";
    case kind::array:
      return "array";
    case kind::set:
      return "set";
    case kind::enumeration:
      return "enumeration";
    case kind::bit:
      return "bit";
    case kind::geometry:
      return "geometry";
    case kind::other:
      return "other";
  }
  return "other";
}

std::string to_string(const table_id& table) {
  return table.schema + "." + table.name;
}

std::optional<std::size_t> relation::find(std::string_view column_name) const noexcept {
  const auto found = std::ranges::find(columns, column_name, &column::name);
  if (found == columns.end())
    return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

} // namespace cdc
