#include "actors/log.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "actors/figures.hpp"
#include "actors/repeat_limiter.hpp"
#include "messages/json.hpp"

namespace cdc::log {

namespace {

constexpr std::array<std::string_view, 6> level_names{"trace", "debug", "info",
                                                      "warn",  "error", "off"};

std::optional<level> level_named(std::string_view name) {
  const auto* found = std::find(level_names.begin(), level_names.end(), name);
  if (found == level_names.end())
    return std::nullopt;
  return static_cast<level>(found - level_names.begin());
}

std::optional<area> area_named(std::string_view name) {
  const auto* found = std::find(area_names.begin(), area_names.end(), name);
  if (found == area_names.end())
    return std::nullopt;
  return static_cast<area>(found - area_names.begin());
}

spdlog::level::level_enum to_spdlog(level how) {
  switch (how) {
    case level::trace:
      return spdlog::level::trace;
    case level::debug:
      return spdlog::level::debug;
    case level::info:
      return spdlog::level::info;
    case level::warn:
      return spdlog::level::warn;
    case level::error:
      return spdlog::level::err;
    case level::off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

/// One write per line, so that lines of several processes on one stream do not mix.
class file_sink final : public spdlog::sinks::base_sink<std::mutex> {
public:
  explicit file_sink(std::FILE* to) : to_(to), is_terminal_(::isatty(::fileno(to)) == 1) {}

protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    if (is_terminal_) // a progress line may stand there
      line.append(clear_line.data(), clear_line.data() + clear_line.size());
    formatter_->format(message, line);
    std::fwrite(line.data(), 1, line.size(), to_);
    std::fflush(to_);
  }
  void flush_() override { std::fflush(to_); }

private:
  static constexpr std::string_view clear_line = "\r\x1b[K";

  std::FILE* to_;
  bool is_terminal_;
};

struct writer_state {
  std::mutex limiter_guard;
  repeat_limiter limiter;
  config::log_config::form format = config::log_config::form::text;
  std::unique_ptr<spdlog::logger> out;
};

void open(writer_state& state, const options& chosen) {
  const auto is_json = chosen.format == config::log_config::form::json;
  state.format = chosen.format;
  state.out = std::make_unique<spdlog::logger>("cdc", std::make_shared<file_sink>(chosen.to));
  state.out->set_level(spdlog::level::trace);
  state.out->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      is_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %v",
      spdlog::pattern_time_type::utc));
}

writer_state& state() {
  // Never destroyed: an actor's thread may still speak while the process ends.
  static auto& only = *[] {
    auto* made = new writer_state;
    open(*made, options{});
    return made;
  }();
  return only;
}

void put(writer_state& to, level how, const std::string& line) {
  to.out->log(to_spdlog(how), spdlog::string_view_t{line.data(), line.size()});
}

// One line whatever was said: a server's message must not be able to forge a line of ours.
std::string as_text(level how, std::string_view name, std::string_view pipeline,
                    std::string_view words) {
  const auto speaker = pipeline.empty() ? std::string{} : "[" + actors::one_line(pipeline) + "] ";
  return fmt::format("{:<5} {} {}{}", level_names[static_cast<std::size_t>(how)], name, speaker,
                     actors::one_line(words));
}

std::string as_json(level how, event what, std::string_view pipeline, std::string_view words) {
  std::string line;
  const auto member = [&](std::string_view key, std::string_view content) {
    line += line.empty() ? "\"" : ",\"";
    line += key;
    line += "\":";
    json::append_string(line, content);
  };
  member("level", level_names[static_cast<std::size_t>(how)]);
  member("area", area_names[static_cast<std::size_t>(what.from)]);
  member("event", what.name);
  if (!pipeline.empty())
    member("pipeline", pipeline);
  member("message", words);
  return line;
}

} // namespace

result<options> options_from(const config::log_config& config) {
  const auto general = level_named(config.level);
  if (!general)
    return fail(errc::invalid_config, "log.level: there is no level '{}': use {}", config.level,
                "trace, debug, info, warn, error or off");
  options chosen{.format = config.format, .general = *general};
  chosen.areas.fill(*general);
  for (const auto& [name, wanted] : config.areas) {
    const auto from = area_named(name);
    if (!from)
      return fail(errc::invalid_config, "log.areas: there is no area '{}': use {}", name,
                  "source, engine, sink, load, checkpoint, supervisor, http or config");
    const auto how = level_named(wanted);
    if (!how)
      return fail(errc::invalid_config, "log.areas.{}: there is no level '{}': use {}", name,
                  wanted, "trace, debug, info, warn, error or off");
    chosen.areas[static_cast<std::size_t>(*from)] = *how;
  }
  return chosen;
}

void configure(const options& chosen) {
  open(state(), chosen);
  for (std::size_t i = 0; i < chosen.areas.size(); ++i)
    detail::levels[i].store(chosen.areas[i], std::memory_order_relaxed);
}

void flush() {
  auto& to = state();
  const std::lock_guard hold{to.limiter_guard};
  for (const auto& rest : to.limiter.take_remainders()) {
    const auto words = fmt::format("said {} more times: {}", rest.held_back, rest.line);
    const event about{"supervisor.log_repeats"};
    put(to, level::info,
        to.format == config::log_config::form::json ? as_json(level::info, about, {}, words)
                                                    : as_text(level::info, about.name, {}, words));
  }
  to.out->flush();
}

void detail::write(level how, event what, std::string_view pipeline, fmt::string_view format,
                   fmt::format_args arguments) noexcept {
  // Logging never ends what it reports on: out of memory, the line is lost.
  try {
    auto words = fmt::vformat(format, arguments);
    auto& to = state();
    if (how >= level::info) {
      const std::lock_guard hold{to.limiter_guard};
      const auto said = to.limiter.ask(fmt::format("{} [{}] {}", what.name, pipeline, words),
                                       repeat_limiter::clock::now());
      if (!said.passes)
        return;
      if (said.held_back > 0)
        fmt::format_to(std::back_inserter(words), " (said {} more times since)", said.held_back);
    }
    put(to, how,
        to.format == config::log_config::form::json ? as_json(how, what, pipeline, words)
                                                    : as_text(how, what.name, pipeline, words));
  } catch (...) {
  }
}

} // namespace cdc::log
