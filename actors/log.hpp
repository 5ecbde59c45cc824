#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "config/config.hpp"
#include "messages/error.hpp"

/// What the program tells its operator: an event's name, which an alert may match, then words.
///
///   log::info("source.connected", "replication of slot {} starts at {}", slot, lsn);
///
/// A secret, a cell or a block has no formatter, so none can be given by accident. Any thread may
/// log at any time; a line that is switched off costs one relaxed load, and is not formatted.
namespace cdc::log {

enum class level : std::uint8_t { trace, debug, info, warn, error, off };

/// Who speaks. An event's name begins with its area and a dot.
enum class area : std::uint8_t { source, engine, sink, load, checkpoint, supervisor, http, config };
inline constexpr std::array<std::string_view, 8> area_names{
    "source", "engine", "sink", "load", "checkpoint", "supervisor", "http", "config"};

/// An event's name, checked while compiling: `area.what_happened`.
struct event {
  // Implicit, so that a call site reads as above.
  template <std::size_t Size>
  consteval event(const char (&literal)[Size]) : name{literal, Size - 1} {
    const auto dot = name.find('.');
    for (std::size_t i = 0; i < area_names.size(); ++i)
      if (name.substr(0, dot) == area_names[i] && dot != name.npos && dot + 1 < name.size()) {
        from = static_cast<area>(i);
        return;
      }
    throw "an event's name is area.what_happened, and the area one of area_names";
  }

  std::string_view name;
  area from = area::supervisor;
};

struct options {
  config::log_config::form format = config::log_config::form::text;
  level general = level::info;
  std::array<level, area_names.size()> areas{level::info, level::info, level::info, level::info,
                                             level::info, level::info, level::info, level::info};
  std::FILE* to = stderr; ///< Not owned.
};

/// Refuses, by name, levels and areas that do not exist.
[[nodiscard]] result<options> options_from(const config::log_config& config);

/// Until the first call: text on stderr at info. Not while another thread may be logging.
void configure(const options& chosen);

/// Writes out what the limiter has counted and not yet told. Call it once before the process ends.
void flush();

namespace detail {
inline std::array<std::atomic<level>, area_names.size()> levels{
    level::info, level::info, level::info, level::info,
    level::info, level::info, level::info, level::info};

void write(level how, event what, std::string_view pipeline, fmt::string_view format,
           fmt::format_args arguments) noexcept;
} // namespace detail

[[nodiscard]] inline bool enabled(level how, area from) noexcept {
  return how >= detail::levels[static_cast<std::size_t>(from)].load(std::memory_order_relaxed);
}

/// Speaks for one pipeline: each line names it. Cheap to copy around, empty for the process itself.
class voice {
public:
  voice() = default;
  explicit voice(std::string pipeline) : pipeline_(std::move(pipeline)) {}

  template <class... Args>
  void trace(event what, fmt::format_string<Args...> format, Args&&... args) const {
    say(level::trace, what, format, args...);
  }
  template <class... Args>
  void debug(event what, fmt::format_string<Args...> format, Args&&... args) const {
    say(level::debug, what, format, args...);
  }
  template <class... Args>
  void info(event what, fmt::format_string<Args...> format, Args&&... args) const {
    say(level::info, what, format, args...);
  }
  template <class... Args>
  void warn(event what, fmt::format_string<Args...> format, Args&&... args) const {
    say(level::warn, what, format, args...);
  }
  template <class... Args>
  void error(event what, fmt::format_string<Args...> format, Args&&... args) const {
    say(level::error, what, format, args...);
  }

private:
  template <class... Args>
  void say(level how, event what, fmt::string_view format, const Args&... args) const {
    if (enabled(how, what.from))
      detail::write(how, what, pipeline_, format, fmt::make_format_args(args...));
  }

  std::string pipeline_;
};

template <class... Args>
void trace(event what, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::trace, what.from))
    detail::write(level::trace, what, {}, format, fmt::make_format_args(args...));
}
template <class... Args>
void debug(event what, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::debug, what.from))
    detail::write(level::debug, what, {}, format, fmt::make_format_args(args...));
}
template <class... Args>
void info(event what, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::info, what.from))
    detail::write(level::info, what, {}, format, fmt::make_format_args(args...));
}
template <class... Args>
void warn(event what, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::warn, what.from))
    detail::write(level::warn, what, {}, format, fmt::make_format_args(args...));
}
template <class... Args>
void error(event what, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level::error, what.from))
    detail::write(level::error, what, {}, format, fmt::make_format_args(args...));
}

} // namespace cdc::log
