#include "sinks/sqlite/column_type.hpp"

#include <cctype>
#include <string>

#include "sinks/sqlite/binding.hpp"

namespace cdc::sinks::sqlite {

namespace {

enum class affinity { text, numeric, integer, real, blob };

std::string upper(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

/// SQLite's own five rules, in its order.
affinity affinity_of(const std::string& type) {
  const auto has = [&](std::string_view part) { return type.find(part) != std::string::npos; };
  if (has("INT"))
    return affinity::integer;
  if (has("CHAR") || has("CLOB") || has("TEXT"))
    return affinity::text;
  if (type.empty() || has("BLOB"))
    return affinity::blob;
  if (has("REAL") || has("FLOA") || has("DOUB"))
    return affinity::real;
  return affinity::numeric;
}

bool is_unsigned(const target_table& table, const target_column& column) noexcept {
  return column.source && table.source->columns[*column.source].is_unsigned;
}

} // namespace

std::string_view declared_type(const target_table& table, const target_column& column,
                               bool numeric_as_number) noexcept {
  switch (binding_of(column, numeric_as_number)) {
    case binding::text:
      return "TEXT";
    case binding::boolean:
      return "INTEGER";
    case binding::integer:
      return is_unsigned(table, column) ? "ANY" : "INTEGER";
    case binding::floating:
    case binding::number:
      return "ANY";
    case binding::blob:
      return "BLOB";
  }
  return "ANY";
}

bool holds(std::string_view type, bool is_strict, std::string_view wanted) {
  const auto have = upper(type);
  if (is_strict)
    return have == "ANY" || have == wanted || (have == "INT" && wanted == "INTEGER");
  const auto keeps = affinity_of(have);
  if (keeps == affinity::blob || wanted == "BLOB")
    return true;
  if (wanted == "TEXT")
    return keeps == affinity::text;
  if (wanted == "INTEGER")
    return keeps == affinity::integer || keeps == affinity::numeric;
  return keeps == affinity::real;
}

} // namespace cdc::sinks::sqlite
