#include "actors/http/target.hpp"

#include <algorithm>

namespace cdc::actors::http {

namespace {

int hex_digit(char digit) noexcept {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  if (digit >= 'a' && digit <= 'f')
    return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F')
    return digit - 'A' + 10;
  return -1;
}

/// `plus_is_space`: in a query, as forms write it.
std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto character = text[i];
    if (character == '+' && plus_is_space) {
      character = ' ';
    } else if (character == '%') {
      if (text.size() - i < 3)
        return std::nullopt;
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0)
        return std::nullopt;
      character = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(character) < 0x20 || character == 0x7F)
      return std::nullopt;
    plain += character;
  }
  return plain;
}

bool parse_query(std::string_view text, target& into) {
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty())
      continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = decode(pair.substr(0, equals), true);
    auto value = decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value)
      return false;
    into.query.emplace_back(std::move(*name), std::move(*value));
  }
  return true;
}

/// `http://host:1/path` → `/path`; proxies ask that way.
std::string_view without_authority(std::string_view text) noexcept {
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme))
    return text;
  const auto slash = text.find('/', scheme.size());
  return slash == text.npos ? "/" : text.substr(slash);
}

} // namespace

std::optional<std::string_view> target::parameter(std::string_view name) const noexcept {
  for (const auto& [known, value] : query)
    if (known == name)
      return value;
  return std::nullopt;
}

std::optional<target> parse_target(std::string_view text) {
  text = without_authority(text);
  text = text.substr(0, text.find('#'));
  if (!text.starts_with('/'))
    return std::nullopt;
  const auto question = std::min(text.find('?'), text.size());
  auto path = decode(text.substr(0, question), false);
  if (!path)
    return std::nullopt;
  target parsed{.path = std::move(*path), .query = {}};
  if (!parse_query(text.substr(std::min(question + 1, text.size())), parsed))
    return std::nullopt;
  return parsed;
}

} // namespace cdc::actors::http
