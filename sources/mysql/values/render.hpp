#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// Canonical text of single values, written to room of the caller's. Each returns the end of what
/// it wrote; none allocates. How the bytes of a row image are laid out is in MySQL's manual,
/// "Internals: Date and Time Data Type Representation", strings/decimal.cc and sql/field.cc.
namespace cdc::sources::mysql {

inline constexpr std::size_t integer_room = 20;
inline constexpr std::size_t floating_room = 32;
inline constexpr std::size_t decimal_room = 72; ///< 65 digits, sign, point, a zero before it.
inline constexpr std::size_t time_room = 40;

template <class T>
[[nodiscard]] char* write_integer(T value, char* to) noexcept {
  return std::to_chars(to, to + integer_room, value).ptr;
}

/// The shortest decimal that is read back as the same number, in the servers' own form: `0.1`,
/// `1e15`, `-2.5e-7` is `-0.00000025`. NaN, Infinity, -Infinity.
[[nodiscard]] char* write_floating(double value, char* to) noexcept;
[[nodiscard]] char* write_floating(float value, char* to) noexcept;

/// Bytes that a DECIMAL(precision, scale) takes in a row image.
[[nodiscard]] std::size_t decimal_size(unsigned precision, unsigned scale) noexcept;

/// A DECIMAL as rows store it, with exactly `scale` digits behind the point. nullptr when a group
/// of its digits is none.
[[nodiscard]] char* write_decimal(std::string_view stored, unsigned precision, unsigned scale,
                                  char* to) noexcept;

/// A date and time taken apart. Nothing is checked: zero days, and days past the month's end, are
/// values that the servers store.
struct calendar_time {
  unsigned year = 0, month = 0, day = 0;
  unsigned hour = 0, minute = 0, second = 0;
  unsigned microsecond = 0;
  bool is_negative = false; ///< Of a TIME.
};

/// Seconds since 1970-01-01 UTC; 0 without a fraction is the servers' zero date.
[[nodiscard]] calendar_time calendar_time_of(std::uint32_t seconds, unsigned microsecond) noexcept;

/// YYYY-MM-DD
[[nodiscard]] char* write_date(const calendar_time& it, char* to) noexcept;
/// YYYY-MM-DD HH:MM:SS[.ffffff]
[[nodiscard]] char* write_datetime(const calendar_time& it, unsigned digits, char* to) noexcept;
/// [-]HH:MM:SS[.ffffff], hours as many as there are.
[[nodiscard]] char* write_time(const calendar_time& it, unsigned digits, char* to) noexcept;

/// Bytes of a fraction with so many digits in TIMESTAMP, DATETIME and TIME since MySQL 5.6.
[[nodiscard]] constexpr std::size_t fraction_size(unsigned digits) noexcept {
  return (digits + 1) / 2;
}

/// DATE: three bytes.
[[nodiscard]] calendar_time read_date(std::uint32_t packed) noexcept;
/// DATETIME since MySQL 5.6: five bytes and the fraction's.
[[nodiscard]] calendar_time read_datetime(std::string_view stored, unsigned digits) noexcept;
/// TIMESTAMP since MySQL 5.6: four bytes and the fraction's.
[[nodiscard]] calendar_time read_timestamp(std::string_view stored, unsigned digits) noexcept;
/// TIME since MySQL 5.6: three bytes and the fraction's.
[[nodiscard]] calendar_time read_time(std::string_view stored, unsigned digits) noexcept;

/// Bytes of the types before MySQL 5.6; with digits, MariaDB's own of 5.3.
[[nodiscard]] std::size_t old_datetime_size(unsigned digits) noexcept;
[[nodiscard]] std::size_t old_timestamp_size(unsigned digits) noexcept;
[[nodiscard]] std::size_t old_time_size(unsigned digits) noexcept;
[[nodiscard]] calendar_time read_old_datetime(std::string_view stored, unsigned digits) noexcept;
[[nodiscard]] calendar_time read_old_timestamp(std::string_view stored, unsigned digits) noexcept;
[[nodiscard]] calendar_time read_old_time(std::string_view stored, unsigned digits) noexcept;

/// A DATE, DATETIME, TIMESTAMP or TIME inside JSON: eight bytes (my_time.h, packed times).
[[nodiscard]] calendar_time read_packed_datetime(std::int64_t packed) noexcept;
[[nodiscard]] calendar_time read_packed_time(std::int64_t packed) noexcept;

/// `\x` and two digits a byte: 2 + 2 × size.
[[nodiscard]] char* write_hex(std::string_view bytes, char* to) noexcept;

/// 36 characters of 16 bytes.
[[nodiscard]] char* write_uuid(std::string_view bytes, char* to) noexcept;
/// Four bytes; at most 15 characters.
[[nodiscard]] char* write_inet4(std::string_view bytes, char* to) noexcept;
/// Sixteen bytes as MariaDB prints them; at most 45 characters.
[[nodiscard]] char* write_inet6(std::string_view bytes, char* to) noexcept;

/// `{0.1,2}` of little-endian floats: 2 + 17 a float.
[[nodiscard]] char* write_vector(std::string_view bytes, char* to) noexcept;

} // namespace cdc::sources::mysql
