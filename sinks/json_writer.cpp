#include "sinks/json_writer.hpp"

#include <algorithm>
#include <charconv>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "messages/utf8.hpp"

namespace cdc::sinks {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr std::size_t escape_max = 6; ///< \u00xx

constexpr bool is_plain(unsigned char byte) noexcept {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/// Copies plain ASCII from the front of `from` to `to`, which has room for all of it and 15 bytes
/// more; says how much.
std::size_t copy_plain(std::string_view from, char* to) noexcept {
  std::size_t at = 0;
#ifdef __SSE2__
  // Signed comparison finds control characters and bytes beyond ASCII in one.
  const auto space = _mm_set1_epi8(0x20);
  const auto quote = _mm_set1_epi8('"');
  const auto backslash = _mm_set1_epi8('\\');
  for (; at + 16 <= from.size(); at += 16) {
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), bytes);
    const auto special =
        _mm_or_si128(_mm_cmplt_epi8(bytes, space),
                     _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special)); mask != 0)
      return at + static_cast<std::size_t>(__builtin_ctz(mask));
  }
#endif
  for (; at < from.size() && is_plain(static_cast<unsigned char>(from[at])); ++at)
    to[at] = from[at];
  return at;
}

char* write_escape(unsigned char byte, char* to) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  *to++ = '\\';
  switch (byte) {
    case '"':
    case '\\':
      *to++ = static_cast<char>(byte);
      return to;
    case '\n':
      *to++ = 'n';
      return to;
    case '\r':
      *to++ = 'r';
      return to;
    case '\t':
      *to++ = 't';
      return to;
    default:
      to = std::copy_n("u00", 3, to);
      *to++ = digits[byte >> 4U];
      *to++ = digits[byte & 0xFU];
      return to;
  }
}

} // namespace

void json_writer::string(std::string_view text) {
  raw('"');
  while (!text.empty()) {
    // Only what is plain is copied at once, so a text of escapes alone cannot outgrow its room.
    const auto plain = copy_plain(text, reserve(text.size() + 16));
    size_ += plain;
    text.remove_prefix(plain);
    if (text.empty())
      break;
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte < 0x80) {
      char* begin = reserve(escape_max);
      size_ += static_cast<std::size_t>(write_escape(byte, begin) - begin);
      text.remove_prefix(1);
    } else if (const auto length = utf8_sequence(text, 0); length != 0) {
      raw(text.substr(0, length));
      text.remove_prefix(length);
    } else {
      raw(replacement);
      text.remove_prefix(1);
    }
  }
  raw('"');
}

void json_writer::number(std::uint64_t value) {
  char* begin = reserve(20);
  size_ += static_cast<std::size_t>(std::to_chars(begin, begin + 20, value).ptr - begin);
}

void json_writer::number(std::string_view text) {
  if (is_json_number(text))
    raw(text);
  else
    string(text);
}

void json_writer::boolean(std::string_view text) {
  if (text == "t" || text == "f")
    raw(text == "t" ? "true" : "false");
  else
    number(text);
}

void json_writer::grow(std::size_t more) {
  const auto wanted = std::max({size_ + more, capacity_ * 2, std::size_t{4096}});
  std::unique_ptr<char[]> bytes(new char[wanted]); // not made zero
  if (size_ != 0)
    std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = wanted;
}

std::string as_json(std::string_view text) {
  json_writer out;
  out.string(text);
  return std::string(out.text());
}

bool is_json_number(std::string_view text) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = [&] {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count]))
      ++count;
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-'))
    text.remove_prefix(1);
  const bool starts_with_zero = text.starts_with('0');
  const auto whole = digits();
  if (whole == 0 || (starts_with_zero && whole > 1))
    return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (digits() == 0)
      return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-'))
      text.remove_prefix(1);
    if (digits() == 0)
      return false;
  }
  return text.empty();
}

} // namespace cdc::sinks
