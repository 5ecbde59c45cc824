#include "sources/proposal.hpp"

#include <algorithm>

#include "config/table_pattern.hpp"

namespace cdc::sources {

namespace {

/// Nothing, and a word of complaint, when the name means no table or several.
std::optional<table_id> find_one(std::span<const table_id> tables, const std::string& name,
                                 std::string& wrong) {
  std::vector<table_id> found;
  const auto qualified = config::parse_table_name(name);
  for (const auto& each : tables)
    if (qualified ? each == *qualified : each.name == name)
      found.push_back(each);
  if (found.size() == 1)
    return found.front();
  wrong += wrong.empty() ? "" : "\n";
  if (found.empty()) {
    wrong += fmt::format("there is no table {}", name);
    return std::nullopt;
  }
  wrong += fmt::format("{} could be", name);
  for (const auto& each : found)
    wrong += " " + config::write_table_name(each);
  return std::nullopt;
}

} // namespace

result<std::vector<table_id>> find_named(std::span<const table_id> tables,
                                         std::span<const std::string> names) {
  std::vector<table_id> out;
  std::string wrong;
  for (const auto& name : names) {
    auto table = find_one(tables, name, wrong);
    if (table && std::ranges::find(out, *table) == out.end())
      out.push_back(*std::move(table));
  }
  if (!wrong.empty())
    return fail(errc::source_misconfigured, "{}", wrong);
  return out;
}

} // namespace cdc::sources
