#include "sources/postgres/copy_text.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cdc::sources::postgres {

namespace {

/// Finds the bytes of a row that mean something: tab, backslash, newline. One pass, 16 at a time.
class stop_scanner {
public:
  stop_scanner(const char* begin, const char* end) noexcept : at_(begin), end_(end) { load(); }

  /// The next stop, or the end of the row.
  const char* next() noexcept {
    while (stops_ == 0) {
      if (end_ - at_ <= width)
        return end_;
      at_ += width;
      load();
    }
    const auto* found = at_ + std::countr_zero(stops_);
    stops_ &= stops_ - 1;
    return found;
  }

private:
  static constexpr std::ptrdiff_t width = 16;

  void load() noexcept {
    const auto left = end_ - at_;
    stops_ = left >= width ? stops_of_16(at_) : stops_of(at_, left);
  }

  static bool is_stop(char c) noexcept { return c == '\t' || c == '\\' || c == '\n'; }

  static std::uint32_t stops_of(const char* at, std::ptrdiff_t size) noexcept {
    std::uint32_t stops = 0;
    for (std::ptrdiff_t i = 0; i < size; ++i)
      stops |= static_cast<std::uint32_t>(is_stop(at[i])) << i;
    return stops;
  }

  static std::uint32_t stops_of_16(const char* at) noexcept {
#if defined(__SSE2__)
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto tabs = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
    const auto slashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    const auto newlines = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
    return static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(tabs, slashes), newlines)));
#else
    return stops_of(at, width);
#endif
  }

  const char* at_;
  const char* end_;
  std::uint32_t stops_ = 0;
};

// The escapes CopyAttributeOutText (src/backend/commands/copyto.c) writes; 0: not one of them.
char unescaped(char c) noexcept {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case '\\':
      return '\\';
    default:
      return 0;
  }
}

/// Rewrites an escaped value in place; nullptr when an escape is not one the server writes.
char* unescape(char* begin, char* end) noexcept {
  auto* out = begin;
  for (auto* in = begin; in != end; ++in) {
    if (*in != '\\') {
      *out++ = *in;
      continue;
    }
    if (++in == end)
      return nullptr;
    const auto plain = unescaped(*in);
    if (plain == 0)
      return nullptr;
    *out++ = plain;
  }
  return out;
}

bool is_null(const char* begin, const char* end) noexcept {
  return end - begin == 2 && begin[0] == '\\' && begin[1] == 'N';
}

/// Divides a row, already in the arena, into cells. Returns what is wrong with it, or nullptr.
const char* split(block_builder& out, char* begin, char* end, std::size_t columns) {
  stop_scanner stops{begin, end};
  auto* value = begin;
  for (std::size_t column = 0; column < columns; ++column) {
    bool escaped = false;
    auto* stop = const_cast<char*>(stops.next());
    // An escape's second byte may be a backslash too; being neither tab nor newline, it can be
    // passed over here and judged by unescape().
    for (; stop != end && *stop == '\\'; stop = const_cast<char*>(stops.next()))
      escaped = true;
    const auto is_last = column + 1 == columns;
    if (stop != end && *stop == '\n')
      return "has a newline inside";
    if (is_last && stop != end)
      return "has too many columns";
    if (!is_last && stop == end)
      return "has too few columns";
    if (!escaped) {
      out.piece(value, stop);
    } else if (is_null(value, stop)) {
      out.null();
    } else {
      const auto* plain_end = unescape(value, stop);
      if (!plain_end)
        return "has an unknown escape";
      out.piece(value, plain_end);
    }
    if (!is_last)
      value = stop + 1;
  }
  return columns == 0 && begin != end ? "has too many columns" : nullptr;
}

} // namespace

result<void> append_copy_row(block_builder& out, const relation_ptr& shape, std::string_view line) {
  if (line.empty() || line.back() != '\n')
    return fail(errc::malformed_message, "COPY row of {}: {} bytes without a newline at their end",
                to_string(shape->table), line.size());
  line.remove_suffix(1);
  out.row(operation::row, shape);
  auto* begin = out.space(line.size());
  if (!line.empty())
    std::memcpy(begin, line.data(), line.size());
  const auto* wrong = split(out, begin, begin + line.size(), shape->columns.size());
  if (!wrong)
    return {};
  out.roll_back();
  return fail(errc::malformed_message, "COPY row of {} ({} columns, {} bytes) {}",
              to_string(shape->table), shape->columns.size(), line.size() + 1, wrong);
}

} // namespace cdc::sources::postgres
