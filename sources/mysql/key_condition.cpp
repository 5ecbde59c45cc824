#include "sources/mysql/key_condition.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "messages/row_key.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/ranges.hpp"

namespace cdc::sources::mysql {

namespace {

/// A float's canonical text as the double that the server compares it as.
std::string as_double(std::string_view text) {
  float value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return fmt::format("{:.17e}", static_cast<double>(value));
}

bool is_bits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c == '0' || c == '1'; });
}

bool is_exponential(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e';
  });
}

/// Empty: the value is not one of its kind.
std::string equals(const column& of, const column_type& type, std::string_view value) {
  const auto name = quote_identifier(of.name);
  switch (of.what) {
    case kind::integer:
    case kind::decimal: {
      const auto literal = bound_literal({.name = of.name, .form = literal_form::number}, value);
      // A YEAR of one or two digits would be taken for one of this century.
      const auto* const plus = type.field == field_type::year ? " + 0" : "";
      return literal ? name + plus + " = " + *literal : std::string{};
    }
    case kind::floating:
      if (!is_exponential(value))
        return {};
      if (type.field == field_type::float4)
        return name + " * 1e0 = " + as_double(value);
      return name + " = " + std::string{value} + (value.find('e') == value.npos ? "e0" : "");
    case kind::bytes: {
      const auto digits = value.starts_with("\\x") ? value.substr(2) : std::string_view{};
      const auto literal = bound_literal({.name = of.name, .form = literal_form::hex}, digits);
      return literal && value.starts_with("\\x") ? name + " = " + *literal : std::string{};
    }
    case kind::bit:
      return is_bits(value) ? fmt::format("{} = b'{}'", name, value) : std::string{};
    case kind::timestamptz:
      // Of every session's UTC; the server wants no offset, or one of hours and minutes.
      return name + " = _utf8mb4 " + hex_literal(value.substr(0, value.rfind("+00")));
    default:
      return name + " = _utf8mb4 " + hex_literal(value);
  }
}

} // namespace

result<std::string> where_key(const relation& shape, std::span<const column_type> types,
                              std::string_view encoded) {
  const auto values = decode_key(encoded);
  if (!values)
    return tl::unexpected(values.error());
  if (values->empty() || values->size() != shape.key.size())
    return fail(errc::invariant_broken, "a key of {} values for {}, which has {}", values->size(),
                to_string(shape.table), shape.key.size());
  std::string out;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const auto at = shape.key[i];
    const auto condition = equals(shape.columns[at], types[at], (*values)[i]);
    if (condition.empty())
      return fail(errc::malformed_message, "a key of {} has a value of {} that is none of its type",
                  to_string(shape.table), shape.columns[at].name);
    out += (out.empty() ? " WHERE " : " AND ") + condition;
  }
  return out;
}

} // namespace cdc::sources::mysql
