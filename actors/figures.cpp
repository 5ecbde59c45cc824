#include "actors/figures.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace cdc::actors {

namespace {

constexpr bool begins_code_point(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
}

} // namespace

std::string spell_count(std::uint64_t count) {
  auto digits = fmt::format("{}", count);
  for (auto at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string spell_rate(double per_second) {
  if (!(per_second > 0))
    return "0";
  if (per_second < 9.95)
    return fmt::format("{:.1f}", per_second);
  if (per_second < 999.5)
    return fmt::format("{:.0f}", per_second);
  if (per_second < 99'950)
    return fmt::format("{:.1f} k", per_second / 1e3);
  if (per_second < 999'500)
    return fmt::format("{:.0f} k", per_second / 1e3);
  return fmt::format("{:.2f} M", per_second / 1e6);
}

std::string spell_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1023.5 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  return unit == 0 || size >= 9.95 ? fmt::format("{:.0f} {}", size, units[unit])
                                   : fmt::format("{:.1f} {}", size, units[unit]);
}

std::string spell_duration(double seconds) {
  if (!(seconds > 0))
    return "0 s";
  if (seconds < 9.95)
    return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e12)));
  if (whole < 60)
    return fmt::format("{} s", whole);
  if (whole < 3600)
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 86'400)
    return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86'400, whole % 86'400 / 3600);
}

std::string spell_time(std::int64_t microseconds) {
  const std::chrono::sys_time<std::chrono::microseconds> at{
      std::chrono::microseconds{microseconds}};
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(at - second);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(second)), rest.count());
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == '\t') {
      out += ' ';
    } else if ((byte < 0x20 && byte != '\n') || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) { // U+0080 to U+009F
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string one_line(std::string_view text) {
  auto out = printable(text);
  for (auto at = out.find('\n'); at != std::string::npos; at = out.find('\n', at + 2))
    out.replace(at, 1, "\\n");
  return out;
}

std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out{text};
  const auto taken = width_of(text);
  out.append(width > taken ? width - taken : 0, ' ');
  return out;
}

std::string cut_to(std::string_view text, std::size_t width) {
  if (width_of(text) <= width)
    return std::string{text};
  if (width == 0)
    return {};
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size(); ++end)
    if (begins_code_point(text[end]) && ++columns == width)
      break;
  return std::string{text.substr(0, end)} + "…";
}

} // namespace cdc::actors
