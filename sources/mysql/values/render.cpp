#include "sources/mysql/values/render.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace cdc::sources::mysql {

namespace {

constexpr auto pairs = [] {
  std::array<char, 200> out{};
  for (std::size_t i = 0; i < 100; ++i) {
    out[2 * i] = static_cast<char>('0' + i / 10);
    out[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return out;
}();

char* write_pair(unsigned value, char* to) noexcept {
  std::memcpy(to, pairs.data() + std::size_t{2} * (value % 100), 2);
  return to + 2;
}

char* write_fraction(unsigned microsecond, unsigned digits, char* to) noexcept {
  if (digits == 0)
    return to;
  *to++ = '.';
  std::array<char, 6> all{};
  write_pair(microsecond / 10000, all.data());
  write_pair(microsecond / 100, all.data() + 2);
  write_pair(microsecond, all.data() + 4);
  std::memcpy(to, all.data(), digits);
  return to + digits;
}

std::uint64_t big_endian(std::string_view bytes) noexcept {
  std::uint64_t out = 0;
  for (const char byte : bytes)
    out = out << 8U | static_cast<unsigned char>(byte);
  return out;
}

std::uint64_t little_endian(std::string_view bytes) noexcept {
  std::uint64_t out = 0;
  std::memcpy(&out, bytes.data(), bytes.size());
  return out;
}

constexpr std::array<unsigned, 7> powers_of_ten{1, 10, 100, 1000, 10000, 100000, 1000000};

/// Microseconds of a fraction of one to three bytes, which count 1/100, 1/10000, 1/1000000.
unsigned microseconds(std::uint64_t stored, std::size_t size) noexcept {
  return static_cast<unsigned>(stored) * powers_of_ten[6 - 2 * size];
}

/// The clock in the low bits of a packed date or time: six bits a minute and second.
void take_clock(std::uint64_t packed, unsigned hour_mask, calendar_time& out) noexcept {
  out.hour = static_cast<unsigned>(packed >> 12U) & hour_mask;
  out.minute = static_cast<unsigned>(packed >> 6U) & 63U;
  out.second = static_cast<unsigned>(packed) & 63U;
}

void take_date_and_clock(std::uint64_t packed, calendar_time& out) noexcept {
  const auto months = static_cast<unsigned>(packed >> 22U);
  out.year = months / 13;
  out.month = months % 13;
  out.day = static_cast<unsigned>(packed >> 17U) & 31U;
  take_clock(packed, 31U, out);
}

/// `digits` (no leading or trailing zeros but of a lone 0) times 10^(point - their number), as
/// my_gcvt() of strings/dtoa.cc lays it out in a wide field.
char* lay_out(std::string_view digits, int point, char* to) noexcept {
  constexpr int plain_max = 15; // MAX_DECPT_FOR_F_FORMAT
  const auto count = static_cast<int>(digits.size());
  if (point >= 1 - plain_max && (point <= plain_max || count > point)) {
    if (point <= 0) {
      *to++ = '0';
      *to++ = '.';
      to = std::fill_n(to, -point, '0');
      return std::copy(digits.begin(), digits.end(), to);
    }
    const auto whole = std::min(count, point);
    to = std::copy_n(digits.begin(), whole, to);
    to = std::fill_n(to, point - whole, '0');
    if (count > point) {
      *to++ = '.';
      to = std::copy(digits.begin() + whole, digits.end(), to);
    }
    return to;
  }
  *to++ = digits.front();
  if (count > 1) {
    *to++ = '.';
    to = std::copy(digits.begin() + 1, digits.end(), to);
  }
  *to++ = 'e';
  return write_integer(point - 1, to);
}

template <class T>
char* write_shortest(T value, char* to) noexcept {
  const auto word = [&](std::string_view text) { return std::copy(text.begin(), text.end(), to); };
  if (std::isnan(value))
    return word("NaN");
  if (std::isinf(value))
    return word(value < 0 ? "-Infinity" : "Infinity");
  if (std::signbit(value))
    *to++ = '-';
  if (value == 0)
    return word("0");
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  // d.ddde±xx
  auto* const e = std::find(text.data(), end, 'e');
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
  std::array<char, 24> digits{};
  std::size_t count = 0;
  for (const auto* at = text.data(); at != e; ++at) {
    if (*at != '.')
      digits[count++] = *at;
  }
  return lay_out({digits.data(), count}, exponent + 1, to);
}

// Bytes of 0 to 9 digits that do not fill a group.
constexpr std::array<std::uint8_t, 10> digit_bytes{0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
constexpr unsigned group_digits = 9;
constexpr std::array<std::uint32_t, 10> group_limits{
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

/// Reads a decimal's digits group by group, each with its leading zeros.
class decimal_reader {
public:
  decimal_reader(std::string_view stored, char* to) noexcept
      : at_(stored.data()), to_(to),
        flip_((static_cast<unsigned char>(stored.front()) & 0x80U) != 0 ? 0 : 0xff) {}

  [[nodiscard]] bool is_negative() const noexcept { return flip_ != 0; }

  void group(unsigned digits) noexcept {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < digit_bytes[digits]; ++i)
      value = value << 8U | next();
    if (value >= group_limits[digits]) {
      good_ = false;
      return;
    }
    for (unsigned i = digits; i > 0; --i) {
      to_[i - 1] = static_cast<char>('0' + value % 10);
      value /= 10;
    }
    to_ += digits;
  }

  void groups(unsigned count) noexcept {
    for (unsigned i = 0; i < count && good_; ++i)
      group(group_digits);
  }

  [[nodiscard]] char* end() const noexcept { return good_ ? to_ : nullptr; }

private:
  std::uint32_t next() noexcept {
    auto byte = static_cast<unsigned char>(*at_++);
    if (first_)
      byte ^= 0x80;
    first_ = false;
    return static_cast<unsigned char>(byte ^ flip_);
  }

  const char* at_;
  char* to_;
  unsigned char flip_;
  bool first_ = true;
  bool good_ = true;
};

constexpr std::string_view hex_digits = "0123456789abcdef";

constexpr auto hex_pairs = [] {
  std::array<char, 512> out{};
  for (std::size_t i = 0; i < 256; ++i) {
    out[2 * i] = hex_digits[i >> 4U];
    out[2 * i + 1] = hex_digits[i & 15U];
  }
  return out;
}();

char* write_hex_byte(char byte, char* to) noexcept {
  std::memcpy(to, hex_pairs.data() + std::size_t{2} * static_cast<unsigned char>(byte), 2);
  return to + 2;
}

// MariaDB's times of 5.3 (sql/compat56.cc, sql/field.cc): bytes by digits.
constexpr std::array<std::uint8_t, 7> old_datetime_sizes{8, 6, 6, 7, 7, 7, 8};
constexpr std::array<std::uint8_t, 7> old_time_sizes{3, 4, 4, 5, 5, 5, 6};
constexpr std::array<std::uint8_t, 7> old_fraction_sizes{0, 1, 1, 2, 2, 3, 3};

constexpr std::uint64_t million = 1'000'000;

void take_old_clock(std::uint64_t micros, bool is_time, calendar_time& out) noexcept {
  out.microsecond = static_cast<unsigned>(micros % million);
  micros /= million;
  out.second = static_cast<unsigned>(micros % 60);
  out.minute = static_cast<unsigned>(micros / 60 % 60);
  const auto hours = micros / 3600;
  out.hour = static_cast<unsigned>(is_time ? hours : hours % 24);
}

} // namespace

char* write_floating(double value, char* to) noexcept {
  return write_shortest(value, to);
}
char* write_floating(float value, char* to) noexcept {
  return write_shortest(value, to);
}

std::size_t decimal_size(unsigned precision, unsigned scale) noexcept {
  const auto whole = precision - scale;
  return std::size_t{4} * (whole / group_digits + scale / group_digits) +
         digit_bytes[whole % group_digits] + digit_bytes[scale % group_digits];
}

char* write_decimal(std::string_view stored, unsigned precision, unsigned scale,
                    char* to) noexcept {
  const auto whole = precision - scale;
  std::array<char, 80> digits{};
  decimal_reader in{stored, digits.data()};
  in.group(whole % group_digits);
  in.groups(whole / group_digits);
  in.groups(scale / group_digits);
  in.group(scale % group_digits);
  const char* const end = in.end();
  if (!end)
    return nullptr;
  const auto* const begin = digits.data();
  if (in.is_negative() && std::any_of(begin, end, [](char it) { return it != '0'; }))
    *to++ = '-';
  const auto* const point = begin + whole;
  const auto* const first = std::find_if(begin, point, [](char it) { return it != '0'; });
  if (first == point)
    *to++ = '0';
  to = std::copy(first, point, to);
  if (scale == 0)
    return to;
  *to++ = '.';
  return std::copy(point, end, to);
}

calendar_time calendar_time_of(std::uint32_t seconds, unsigned microsecond) noexcept {
  calendar_time out{.microsecond = microsecond};
  if (seconds == 0 && microsecond == 0)
    return out;
  // Days to a date of the proleptic Gregorian calendar, counted from 0000-03-01.
  const auto days = seconds / 86400 + 719468;
  const auto era = days / 146097;
  const auto day_of_era = days % 146097;
  const auto year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const auto day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const auto shifted_month = (5 * day_of_year + 2) / 153;
  out.day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  out.month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  out.year = year_of_era + era * 400 + (out.month <= 2 ? 1 : 0);
  out.hour = seconds % 86400 / 3600;
  out.minute = seconds % 3600 / 60;
  out.second = seconds % 60;
  return out;
}

char* write_date(const calendar_time& it, char* to) noexcept {
  to = write_pair(it.year / 100, to);
  to = write_pair(it.year, to);
  *to++ = '-';
  to = write_pair(it.month, to);
  *to++ = '-';
  return write_pair(it.day, to);
}

char* write_datetime(const calendar_time& it, unsigned digits, char* to) noexcept {
  to = write_date(it, to);
  *to++ = ' ';
  to = write_pair(it.hour, to);
  *to++ = ':';
  to = write_pair(it.minute, to);
  *to++ = ':';
  to = write_pair(it.second, to);
  return write_fraction(it.microsecond, digits, to);
}

char* write_time(const calendar_time& it, unsigned digits, char* to) noexcept {
  if (it.is_negative)
    *to++ = '-';
  to = it.hour < 100 ? write_pair(it.hour, to) : write_integer(it.hour, to);
  *to++ = ':';
  to = write_pair(it.minute, to);
  *to++ = ':';
  to = write_pair(it.second, to);
  return write_fraction(it.microsecond, digits, to);
}

calendar_time read_date(std::uint32_t packed) noexcept {
  return {.year = packed >> 9U, .month = packed >> 5U & 15U, .day = packed & 31U};
}

calendar_time read_datetime(std::string_view stored, unsigned digits) noexcept {
  calendar_time out;
  // The top bit is the sign, and always set.
  take_date_and_clock(big_endian(stored.substr(0, 5)) & 0x7f'ffff'ffff, out);
  const auto size = fraction_size(digits);
  out.microsecond = microseconds(big_endian(stored.substr(5, size)), size);
  return out;
}

calendar_time read_timestamp(std::string_view stored, unsigned digits) noexcept {
  const auto size = fraction_size(digits);
  return calendar_time_of(static_cast<std::uint32_t>(big_endian(stored.substr(0, 4))),
                          microseconds(big_endian(stored.substr(4, size)), size));
}

calendar_time read_time(std::string_view stored, unsigned digits) noexcept {
  calendar_time out;
  const auto size = fraction_size(digits);
  const auto shift = 8 * size;
  const auto zero = std::int64_t{0x80'0000} << shift;
  const auto value = static_cast<std::int64_t>(big_endian(stored.substr(0, 3 + size))) - zero;
  out.is_negative = value < 0;
  const auto magnitude = static_cast<std::uint64_t>(out.is_negative ? -value : value);
  take_clock(magnitude >> shift, 0x3ffU, out);
  out.microsecond = microseconds(magnitude & ((std::uint64_t{1} << shift) - 1), size);
  return out;
}

std::size_t old_datetime_size(unsigned digits) noexcept {
  return old_datetime_sizes[digits];
}
std::size_t old_timestamp_size(unsigned digits) noexcept {
  return std::size_t{4} + old_fraction_sizes[digits];
}
std::size_t old_time_size(unsigned digits) noexcept {
  return old_time_sizes[digits];
}

calendar_time read_old_datetime(std::string_view stored, unsigned digits) noexcept {
  calendar_time out;
  if (digits == 0) { // YYYYMMDDHHMMSS
    auto value = little_endian(stored);
    const auto take = [&](std::uint64_t by) {
      const auto it = static_cast<unsigned>(value % by);
      value /= by;
      return it;
    };
    out.second = take(100);
    out.minute = take(100);
    out.hour = take(100);
    out.day = take(100);
    out.month = take(100);
    out.year = take(10000);
    return out;
  }
  const auto micros = big_endian(stored) * powers_of_ten[6 - digits];
  take_old_clock(micros, false, out);
  auto days = micros / million / 86400;
  out.day = static_cast<unsigned>(days % 32);
  days /= 32;
  out.month = static_cast<unsigned>(days % 13);
  out.year = static_cast<unsigned>(days / 13 % 10000);
  return out;
}

calendar_time read_old_timestamp(std::string_view stored, unsigned digits) noexcept {
  if (digits == 0)
    return calendar_time_of(static_cast<std::uint32_t>(little_endian(stored)), 0);
  return calendar_time_of(
      static_cast<std::uint32_t>(big_endian(stored.substr(0, 4))),
      static_cast<unsigned>(big_endian(stored.substr(4)) * powers_of_ten[6 - digits] % million));
}

calendar_time read_old_time(std::string_view stored, unsigned digits) noexcept {
  calendar_time out;
  if (digits == 0) { // [-]HHMMSS of three bytes
    auto value = static_cast<std::int32_t>(little_endian(stored));
    if (value >= 0x80'0000)
      value -= 0x100'0000;
    out.is_negative = value < 0;
    const auto magnitude = static_cast<unsigned>(out.is_negative ? -value : value);
    out.hour = magnitude / 10000;
    out.minute = magnitude / 100 % 100;
    out.second = magnitude % 100;
    return out;
  }
  // Counted from the least time there is.
  constexpr std::int64_t zero_seconds = 838 * 3600 + 59 * 60 + 59 + 1;
  const auto zero = zero_seconds * powers_of_ten[digits];
  const auto value = static_cast<std::int64_t>(big_endian(stored)) - zero;
  out.is_negative = value < 0;
  take_old_clock(static_cast<std::uint64_t>(out.is_negative ? -value : value) *
                     powers_of_ten[6 - digits],
                 true, out);
  return out;
}

calendar_time read_packed_datetime(std::int64_t packed) noexcept {
  calendar_time out;
  const auto magnitude =
      packed < 0 ? 0 - static_cast<std::uint64_t>(packed) : static_cast<std::uint64_t>(packed);
  out.microsecond = static_cast<unsigned>(magnitude & 0xff'ffffU);
  take_date_and_clock(magnitude >> 24U, out);
  return out;
}

calendar_time read_packed_time(std::int64_t packed) noexcept {
  calendar_time out;
  out.is_negative = packed < 0;
  const auto magnitude =
      packed < 0 ? 0 - static_cast<std::uint64_t>(packed) : static_cast<std::uint64_t>(packed);
  out.microsecond = static_cast<unsigned>(magnitude & 0xff'ffffU);
  take_clock(magnitude >> 24U, 0x3ffU, out);
  return out;
}

char* write_hex(std::string_view bytes, char* to) noexcept {
  *to++ = '\\';
  *to++ = 'x';
  for (const char byte : bytes)
    to = write_hex_byte(byte, to);
  return to;
}

char* write_uuid(std::string_view bytes, char* to) noexcept {
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      *to++ = '-';
    to = write_hex_byte(bytes[i], to);
  }
  return to;
}

char* write_inet4(std::string_view bytes, char* to) noexcept {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0)
      *to++ = '.';
    to = write_integer(static_cast<unsigned>(static_cast<unsigned char>(bytes[i])), to);
  }
  return to;
}

char* write_inet6(std::string_view bytes, char* to) noexcept {
  std::array<unsigned, 8> words{};
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<unsigned>(big_endian(bytes.substr(2 * i, 2)));
  // The first of the longest runs of zeros becomes `::`.
  std::size_t gap = 8;
  std::size_t gap_size = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t run = 0;
    while (i + run < words.size() && words[i + run] == 0)
      ++run;
    if (run > gap_size) {
      gap = i;
      gap_size = run;
    }
    i += run;
  }
  // An IPv4 address mapped into IPv6, or an old compatible one, keeps its dots.
  const bool ends_in_inet4 = gap == 0 && (gap_size == 6 || (gap_size == 5 && words[5] == 0xffff));
  const auto count = ends_in_inet4 ? std::size_t{6} : words.size();
  for (std::size_t i = 0; i < count;) {
    if (i == gap) {
      *to++ = ':';
      i += gap_size;
      if (i >= words.size())
        *to++ = ':';
      continue;
    }
    if (i != 0)
      *to++ = ':';
    to = std::to_chars(to, to + 4, words[i], 16).ptr;
    ++i;
  }
  if (!ends_in_inet4)
    return to;
  *to++ = ':';
  return write_inet4(bytes.substr(12), to);
}

char* write_vector(std::string_view bytes, char* to) noexcept {
  *to++ = '{';
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    if (at != 0)
      *to++ = ',';
    to = write_floating(
        std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(bytes.substr(at, 4)))), to);
  }
  *to++ = '}';
  return to;
}

} // namespace cdc::sources::mysql
