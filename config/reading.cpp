#include "config/reading.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cdc::config {

std::string to_string(const place& at) {
  return fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

reading::finding reading::make(const place& at, std::string_view subject, std::string_view what) {
  return {at.line, at.column, fmt::format("{}: {}: {}", to_string(at), subject, what)};
}

void reading::mistake(const place& at, std::string_view subject, std::string_view what) {
  mistakes_.insert(make(at, subject, what));
}

void reading::note(const place& at, std::string_view subject, std::string_view what) {
  notes_.insert(make(at, subject, what));
}

void reading::know(std::string_view section, std::string_view key, bool is_supported) {
  known_.insert({std::string{section}, std::string{key}, is_supported});
}

// The document itself has no place of its own; what is missing from it is missing at its top.
place reading::place_of(const toml::source_region& region) const {
  return {file_, std::max<std::uint32_t>(region.begin.line, 1),
          std::max<std::uint32_t>(region.begin.column, 1)};
}

std::optional<std::string> reading::variable(const std::string& name) const {
  return lookup_ ? lookup_(name.c_str()) : std::nullopt;
}

std::string reading::mistakes() const {
  std::string out;
  for (const auto& found : mistakes_)
    out += (out.empty() ? "" : "\n") + found.text;
  return out;
}

std::vector<std::string> reading::notes() const {
  std::vector<std::string> out;
  for (const auto& found : notes_)
    out.push_back(found.text);
  return out;
}

} // namespace cdc::config
