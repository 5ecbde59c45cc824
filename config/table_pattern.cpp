#include "config/table_pattern.hpp"

#include "config/config.hpp"

namespace cdc::config {

namespace {

constexpr char star = '\0';

// Takes one part off the front of `text`; nothing when it is empty or its quotes do not close.
std::optional<std::string> take_part(std::string_view& text) {
  std::string out;
  if (!text.starts_with('"')) {
    while (!text.empty() && text.front() != '.') {
      if (text.front() == star)
        return std::nullopt;
      out += text.front() == '*' ? star : text.front();
      text.remove_prefix(1);
    }
  } else {
    for (text.remove_prefix(1);; text.remove_prefix(1)) {
      if (text.empty() || text.front() == star)
        return std::nullopt;
      if (text.front() == '"') {
        text.remove_prefix(1);
        if (!text.starts_with('"'))
          break;
      }
      out += text.front();
    }
  }
  return out.empty() ? std::nullopt : std::optional{out};
}

// Greedy with one step back: the last star takes one character more whenever the rest fails.
bool fits(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0;
  std::size_t t = 0;
  auto back = std::string_view::npos;
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == star) {
      back = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (back != std::string_view::npos) {
      p = back + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == star)
    ++p;
  return p == pattern.size();
}

bool belongs_to_the_server(std::string_view schema) noexcept {
  return schema.starts_with("pg_") || schema == "information_schema";
}

std::string write_part(std::string_view part) {
  if (part.find_first_of(".*\"!") == std::string_view::npos)
    return std::string{part};
  std::string out = "\"";
  for (const auto letter : part)
    out += letter == '"' ? std::string{"\"\""} : std::string{letter};
  return out + '"';
}

} // namespace

std::optional<table_pattern> parse_table_pattern(std::string_view text) {
  table_pattern out;
  if (text.starts_with('!')) {
    out.excludes = true;
    text.remove_prefix(1);
  }
  auto schema = take_part(text);
  if (!schema || !text.starts_with('.'))
    return std::nullopt;
  text.remove_prefix(1);
  auto name = take_part(text);
  if (!name || !text.empty())
    return std::nullopt;
  out.schema = std::move(*schema);
  out.name = std::move(*name);
  return out;
}

std::optional<table_id> parse_table_name(std::string_view text) {
  auto parsed = parse_table_pattern(text);
  if (!parsed || parsed->excludes || parsed->schema.find(star) != std::string::npos ||
      parsed->name.find(star) != std::string::npos)
    return std::nullopt;
  return table_id{std::move(parsed->schema), std::move(parsed->name)};
}

std::string write_table_name(const table_id& table) {
  return write_part(table.schema) + "." + write_part(table.name);
}

bool table_pattern::matches(std::string_view in_schema, std::string_view called) const noexcept {
  return fits(schema, in_schema) && fits(name, called);
}

bool selects(const sync_config& section, std::string_view schema, std::string_view name) {
  if (!section.is_pattern)
    return section.table.schema == schema && section.table.name == name;
  if (belongs_to_the_server(schema))
    return false;
  auto chosen = false;
  for (const auto& written : section.tables) {
    const auto pattern = parse_table_pattern(written);
    if (pattern && pattern->matches(schema, name))
      chosen = !pattern->excludes;
  }
  return chosen;
}

} // namespace cdc::config
