#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "config/sections.hpp"

namespace cdc::config {

namespace {

constexpr std::array<std::string_view, 6> levels{"trace", "debug", "info", "warn", "error", "off"};
constexpr std::array<std::string_view, 8> areas{"config", "source",     "load",       "engine",
                                                "sink",   "checkpoint", "supervisor", "http"};

bool is_level(std::string_view text) noexcept {
  return std::ranges::find(levels, text) != levels.end();
}

// The names of a pg2osync filter, where ours differ.
std::string_view area_of(std::string_view target) noexcept {
  if (target.starts_with("pg2osync::"))
    target.remove_prefix(std::string_view{"pg2osync::"}.size());
  if (target == "backfill")
    return "load";
  if (target == "catalog" || target == "tls")
    return "source";
  if (target == "metrics" || target == "api")
    return "http";
  if (target == "run" || target == "reload")
    return "supervisor";
  return target;
}

// `warn,pg2osync::engine=debug,source=trace`: a level for all, and levels of single areas.
bool parse_filter(std::string_view text, log_config& out) {
  while (!text.empty()) {
    auto directive = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), directive.size() + 1));
    directive.remove_prefix(std::min(directive.size(), directive.find_first_not_of(' ')));
    directive = directive.substr(0, directive.find_last_not_of(' ') + 1);
    const auto equals = directive.find('=');
    const auto level = directive.substr(equals == std::string_view::npos ? 0 : equals + 1);
    if (!is_level(level))
      return false;
    const auto target = equals == std::string_view::npos ? "" : directive.substr(0, equals);
    if (target.empty() || target == "pg2osync")
      out.level = level;
    else if (std::ranges::find(areas, area_of(target)) != areas.end())
      out.areas[std::string{area_of(target)}] = level;
    else
      return false;
  }
  return true;
}

void read_areas(section in, log_config& out) {
  for (const auto area : areas)
    if (const auto level = in.choice(area, levels))
      out.areas[std::string{area}] = levels[*level];
  in.finish();
}

} // namespace

std::span<const std::string_view> log_areas() noexcept {
  return areas;
}

log_config read_log(section in) {
  static constexpr std::array<std::string_view, 2> forms{"text", "json"};
  log_config out;
  if (const auto form = in.choice("format", forms))
    out.format = static_cast<log_config::form>(*form);
  if (const auto level = in.choice("level", levels))
    out.level = levels[*level];
  const auto* levels_of_areas = in.table("areas");
  read_areas({in.into(), "log.areas", "log.areas", levels_of_areas, in.place_of("areas")}, out);
  const auto filter = in.text("filter");
  if (filter && (in.has("level") || in.has("areas")))
    in.report("filter", "says what level and areas say; keep one of them");
  else if (filter && !parse_filter(*filter, out))
    in.report("filter", fmt::format("expected a level, or area=level, separated by commas; levels "
                                    "are {}, areas {}",
                                    fmt::join(levels, ", "), fmt::join(areas, ", ")));
  in.finish();
  return out;
}

} // namespace cdc::config
