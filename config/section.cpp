#include "config/section.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/nearest.hpp"

namespace cdc::config {

const toml::node* section::look(std::string_view key) const {
  return table_ ? table_->get(key) : nullptr;
}

bool section::has(std::string_view key) const {
  return look(key) != nullptr;
}

const toml::node* section::find(std::string_view key) {
  known_.emplace_back(key);
  into_.know(topic_, key, true);
  return look(key);
}

std::optional<std::string> section::text(std::string_view key) {
  const auto* node = find(key);
  if (!node)
    return std::nullopt;
  auto value = node->value_exact<std::string>();
  if (value && !value->empty())
    return value;
  report(key, value ? "must not be empty" : "expected a string");
  return std::nullopt;
}

std::optional<bool> section::flag(std::string_view key) {
  const auto* node = find(key);
  if (!node)
    return std::nullopt;
  const auto value = node->value_exact<bool>();
  if (!value)
    report(key, "expected true or false");
  return value;
}

std::optional<std::uint64_t> section::number(std::string_view key, between range) {
  const auto* node = find(key);
  if (!node)
    return std::nullopt;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= 0) {
    const auto number = static_cast<std::uint64_t>(*value);
    if (number >= range.min && number <= range.max)
      return number;
  }
  report(key, fmt::format("expected an integer from {} to {}", range.min, range.max));
  return std::nullopt;
}

std::optional<std::vector<std::string>> section::list(std::string_view key) {
  const auto* node = find(key);
  if (!node)
    return std::nullopt;
  const auto* array = node->as_array();
  if (!array) {
    report(key, "expected a list of strings");
    return std::nullopt;
  }
  std::vector<std::string> out;
  for (const auto& element : *array) {
    auto value = element.value_exact<std::string>();
    if (!value)
      report_at(element, key, "expected a string");
    else if (value->empty())
      report_at(element, key, "must not be empty");
    else if (std::ranges::find(out, *value) != out.end())
      report_at(element, key, "is listed twice");
    else
      out.push_back(std::move(*value));
  }
  return out;
}

std::optional<std::size_t> section::choice(std::string_view key,
                                           std::span<const std::string_view> allowed,
                                           std::span<const std::string_view> later) {
  const auto value = text(key);
  if (!value)
    return std::nullopt;
  const auto found = std::ranges::find(allowed, *value);
  if (found != allowed.end())
    return static_cast<std::size_t>(found - allowed.begin());
  // These words are ours, so this value alone may be repeated.
  if (std::ranges::find(later, *value) != later.end())
    report(key, fmt::format("\"{}\" is not supported yet", *value));
  else
    report(key, fmt::format("expected one of \"{}\"", fmt::join(allowed, "\", \"")));
  return std::nullopt;
}

const toml::table* section::table(std::string_view key) {
  const auto* node = find(key);
  if (!node)
    return nullptr;
  if (!node->is_table())
    report(key, "expected a table");
  return node->as_table();
}

void section::refuse_as_later(std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    into_.know(topic_, key, false);
    later_.emplace_back(key);
    if (has(key))
      report(key, "not supported yet");
  }
}

void section::finish() {
  if (!table_)
    return;
  for (const auto& [key, node] : *table_) {
    const auto word = key.str();
    if (std::ranges::find(known_, word) != known_.end() ||
        std::ranges::find(later_, word) != later_.end())
      continue;
    const auto meant = nearest(word, known_);
    into_.mistake(
        into_.place_of(node.is_table() || node.is_array_of_tables() ? node.source() : key.source()),
        subject(word),
        meant ? fmt::format("no such option; did you mean {}?", subject(*meant))
              : std::string{"no such option"});
  }
}

std::string section::subject(std::string_view key) const {
  if (name_.empty() || key.empty())
    return name_ + std::string{key};
  return fmt::format("{}.{}", name_, key);
}

place section::place_of(std::string_view key) const {
  const auto* node = look(key);
  return node ? into_.place_of(node->source()) : at_;
}

void section::report(std::string_view key, std::string_view what) {
  into_.mistake(place_of(key), subject(key), what);
}

void section::report_at(const toml::node& element, std::string_view key, std::string_view what) {
  into_.mistake(into_.place_of(element.source()), subject(key), what);
}

void section::note(std::string_view key, std::string_view what) {
  into_.note(place_of(key), subject(key), what);
}

} // namespace cdc::config
