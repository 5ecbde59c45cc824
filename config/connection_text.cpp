#include "config/connection_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/percent.hpp"

namespace cdc::config {

namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";

std::optional<std::string_view> without_scheme(std::string_view text) {
  for (const std::string_view scheme : {"postgresql://", "postgres://"})
    if (text.starts_with(scheme))
      return text.substr(scheme.size());
  return std::nullopt;
}

// libpq takes all up to the first @ for the user and password unless a / comes before it, so a ? in
// a password does not begin the parameters.
std::string_view without_user(std::string_view rest) {
  const auto stop = rest.find_first_of("@/");
  return stop != std::string_view::npos && rest[stop] == '@' ? rest.substr(stop + 1) : rest;
}

void read_url_parameters(std::string_view query, connection_text& out) {
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos)
      out.parameters[percent_decoded(pair.substr(0, equals))] =
          percent_decoded(pair.substr(equals + 1));
  }
}

connection_text look_into_url(std::string_view rest) {
  connection_text out{.is_url = true, .server = {}, .parameters = {}};
  rest = without_user(rest);
  const auto query = rest.find('?');
  if (query != std::string_view::npos)
    read_url_parameters(rest.substr(query + 1), out);
  out.server = percent_decoded(rest.substr(0, rest.find_first_of("/?")));
  return out;
}

// `key = 'it''s'` is written `key = 'it\'s'`; a bare value ends at a blank.
std::optional<std::string> take_value(std::string_view& text) {
  const auto quoted = text.starts_with('\'');
  if (quoted)
    text.remove_prefix(1);
  std::string out;
  while (!text.empty()) {
    const auto letter = text.front();
    if (quoted ? letter == '\'' : blanks.find(letter) != std::string_view::npos)
      break;
    if (letter == '\\')
      text.remove_prefix(1);
    if (text.empty())
      return std::nullopt;
    out += text.front();
    text.remove_prefix(1);
  }
  if (quoted) {
    if (text.empty())
      return std::nullopt;
    text.remove_prefix(1);
  }
  return out;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(blanks)));
}

// libpq's are all of small letters; `mysql://…?a` is none.
bool is_keyword(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || letter == '_';
  });
}

std::optional<connection_text> look_into_pairs(std::string_view text) {
  connection_text out;
  for (skip_blanks(text); !text.empty(); skip_blanks(text)) {
    const auto key = text.substr(0, text.find_first_of(" \t\r\n\f\v="));
    text.remove_prefix(key.size());
    skip_blanks(text);
    if (!is_keyword(key) || !text.starts_with('='))
      return std::nullopt;
    text.remove_prefix(1);
    skip_blanks(text);
    auto value = take_value(text);
    if (!value)
      return std::nullopt;
    out.parameters[std::string{key}] = std::move(*value);
  }
  return out.parameters.empty() ? std::nullopt : std::optional{out};
}

void complete_server(connection_text& out) {
  const auto parameter = [&](const char* key) {
    const auto found = out.parameters.find(key);
    return found == out.parameters.end() ? std::string{} : found->second;
  };
  auto host = parameter("host");
  if (host.empty())
    host = parameter("hostaddr");
  if (!host.empty() || !out.is_url)
    out.server = host;
  const auto port = parameter("port");
  const auto colon = out.server.rfind(':');
  const auto bracket = out.server.rfind(']');
  const auto has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  if (!has_port || !port.empty())
    out.server = out.server.substr(0, has_port ? colon : std::string::npos) + ":" +
                 (port.empty() ? "5432" : port);
}

std::string encode(std::string_view text) {
  std::string out;
  for (const auto letter : text) {
    const auto plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') ||
                       std::string_view{"-._/"}.find(letter) != std::string_view::npos;
    out += plain ? std::string{letter} : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return out;
}

// Written anew, since an empty value at the end (`password=`) would swallow what is put behind it.
std::string rewrite_pairs(std::string_view text, std::string_view key, std::string_view value) {
  auto parameters = look_into_pairs(text).value_or(connection_text{}).parameters;
  parameters[std::string{key}] = value;
  std::string out;
  for (const auto& [name, said] : parameters) {
    out += fmt::format("{}{}='", out.empty() ? "" : " ", name);
    for (const auto letter : said)
      out += letter == '\'' || letter == '\\' ? std::string{'\\', letter} : std::string{letter};
    out += '\'';
  }
  return out;
}

} // namespace

std::optional<connection_text> look_into(std::string_view text) {
  std::optional<connection_text> out;
  if (const auto rest = without_scheme(text))
    out = look_into_url(*rest);
  else
    out = look_into_pairs(text);
  if (out)
    complete_server(*out);
  return out;
}

std::string with_parameter(const std::string& text, std::string_view key, std::string_view value) {
  const auto rest = without_scheme(text);
  if (!rest)
    return rewrite_pairs(text, key, value);
  const auto tail = without_user(*rest);
  const auto question = tail.find('?');
  const auto query = tail.substr(std::min(tail.size(), question));
  const auto joint = query.empty() ? "?" : query == "?" || query.ends_with('&') ? "" : "&";
  return fmt::format("{}{}{}={}", text, joint, key, encode(value));
}

} // namespace cdc::config
