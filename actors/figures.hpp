#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Figures as a person reads them.
namespace cdc::actors {

[[nodiscard]] std::string spell_count(std::uint64_t count); ///< `1,234,567`
[[nodiscard]] std::string spell_rate(double per_second);    ///< `640`, `12.3 k`, `310 k`, `1.20 M`
[[nodiscard]] std::string spell_bytes(std::uint64_t bytes); ///< `0 B`, `1.5 KiB`, `12 MiB`
[[nodiscard]] std::string
spell_duration(double seconds); ///< `0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`, `3 d 2 h`
[[nodiscard]] std::string
spell_time(std::int64_t microseconds); ///< `2026-11-30T16:40:01.123Z`, of µs since 1970 UTC

/// `text` with what could steer a terminal spelled out: an escape is `\x1b`, the one character that
/// begins a sequence by itself `\u009b`. Line breaks stay, a tab becomes a space.
[[nodiscard]] std::string printable(std::string_view text);
/// The same on one line: a line break becomes `\n`.
[[nodiscard]] std::string one_line(std::string_view text);

/// Columns that UTF-8 text takes on a terminal, each code point one.
[[nodiscard]] std::size_t width_of(std::string_view text) noexcept;
/// `text` with spaces behind it up to `width`.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);
/// The first `width` columns of it, the last of them `…` when something was cut.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t width);

} // namespace cdc::actors
