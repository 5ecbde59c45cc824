#include "sources/mysql/ranges.hpp"

#include <algorithm>

#include "sources/mysql/connection.hpp"

namespace cdc::sources::mysql {

namespace {

using values = std::vector<std::string>;

bool is_digit(char letter) noexcept {
  return letter >= '0' && letter <= '9';
}

bool is_hex(char letter) noexcept {
  return is_digit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

bool is_number(std::string_view text) {
  if (text.starts_with('-'))
    text.remove_prefix(1);
  const auto point = text.find('.');
  const auto whole = text.substr(0, point);
  const auto rest = point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  return !whole.empty() && std::ranges::all_of(whole, is_digit) &&
         std::ranges::all_of(rest, is_digit);
}

bool is_plain(char letter) noexcept {
  return is_hex(letter) || letter == ' ' || letter == '-' || letter == ':' || letter == '.';
}

result<values> literals_of(std::span<const key_part> key, const values& bound) {
  if (bound.size() > key.size())
    return fail(errc::malformed_message, "a bound of {} values for a key of {}", bound.size(),
                key.size());
  values out;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    auto literal = bound_literal(key[i], bound[i]);
    if (!literal)
      return tl::unexpected(literal.error());
    out.push_back(*std::move(literal));
  }
  return out;
}

/// `(a > 1 OR (a = 1 AND (b > 2 OR …)))`: `last` compares the last column, `strict` all before it.
result<std::string> comparison(std::span<const key_part> key, const values& bound,
                               std::string_view strict, std::string_view last) {
  const auto literals = literals_of(key, bound);
  if (!literals)
    return tl::unexpected(literals.error());
  std::string out;
  for (auto i = bound.size(); i-- > 0;) {
    const auto name = quote_identifier(key[i].name);
    const auto& literal = (*literals)[i];
    if (i + 1 == bound.size())
      out = fmt::format("{} {} {}", name, last, literal);
    else
      out = fmt::format("({0} {1} {2} OR ({0} = {2} AND {3}))", name, strict, literal, out);
  }
  return out;
}

} // namespace

std::string hex_literal(std::string_view bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "X'";
  for (const auto letter : bytes) {
    const auto value = static_cast<unsigned char>(letter);
    out += digits[value >> 4];
    out += digits[value & 15];
  }
  return out + '\'';
}

std::string bound_expression(const key_part& part) {
  const auto name = quote_identifier(part.name);
  return part.form == literal_form::hex ? "HEX(" + name + ")" : name;
}

result<std::string> bound_literal(const key_part& part, std::string_view value) {
  switch (part.form) {
    case literal_form::number:
      if (is_number(value))
        return std::string{value};
      break;
    case literal_form::quoted:
      if (std::ranges::all_of(value, is_plain))
        return fmt::format("'{}'", value);
      break;
    case literal_form::hex:
      if (value.size() % 2 == 0 && std::ranges::all_of(value, is_hex))
        return fmt::format("{}X'{}'", part.charset.empty() ? "" : "_" + part.charset + " ", value);
      break;
    case literal_form::unordered:
      break;
  }
  return fail(errc::malformed_message, "a bound of column {} is not a value of its type",
              part.name);
}

result<std::string> where_range(std::span<const key_part> key, const load_range& range) {
  std::string out;
  const auto add = [&](const values& bound, std::string_view strict,
                       std::string_view last) -> result<void> {
    if (bound.empty())
      return {};
    const auto condition = comparison(key, bound, strict, last);
    if (!condition)
      return tl::unexpected(condition.error());
    out += (out.empty() ? " WHERE " : " AND ") + *condition;
    return {};
  };
  if (auto added = add(range.from, ">", ">="); !added)
    return tl::unexpected(added.error());
  if (auto added = add(range.to, "<", "<"); !added)
    return tl::unexpected(added.error());
  return out;
}

result<std::string> is_above(std::span<const key_part> key, const values& bound) {
  return comparison(key, bound, ">", ">");
}

} // namespace cdc::sources::mysql
