#include "sinks/sqlite/binding.hpp"

#include <charconv>
#include <system_error>

#include "sinks/hex.hpp"

namespace cdc::sinks::sqlite {

namespace {

int bind_text(sqlite3_stmt* to, int at, std::string_view text) noexcept {
  return sqlite3_bind_text64(to, at, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC,
                             SQLITE_UTF8);
}

template <class Number>
bool parse(std::string_view text, Number& out) noexcept {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

/// Digits come first, behind a sign: NaN and Infinity are words to from_chars, but not to SQLite.
bool starts_a_number(std::string_view text) noexcept {
  if (text.starts_with('-'))
    text.remove_prefix(1);
  return !text.empty() && (text.front() == '.' || (text.front() >= '0' && text.front() <= '9'));
}

int bind_integer(sqlite3_stmt* to, int at, std::string_view text) noexcept {
  std::int64_t value = 0;
  return parse(text, value) ? sqlite3_bind_int64(to, at, value) : bind_text(to, at, text);
}

int bind_double(sqlite3_stmt* to, int at, std::string_view text) noexcept {
  double value = 0;
  if (starts_a_number(text) && parse(text, value))
    return sqlite3_bind_double(to, at, value);
  return bind_text(to, at, text);
}

int bind_number(sqlite3_stmt* to, int at, std::string_view text) noexcept {
  std::int64_t value = 0;
  return parse(text, value) ? sqlite3_bind_int64(to, at, value) : bind_double(to, at, text);
}

int bind_blob(sqlite3_stmt* to, int at, std::string_view text, blob_space& space) noexcept {
  if (!text.starts_with("\\x") || text.size() % 2 != 0)
    return bind_text(to, at, text);
  const auto size = text.size() / 2 - 1;
  if (size == 0)
    return sqlite3_bind_zeroblob(to, at, 0);
  char* bytes = space.take(size);
  if (!decode_hex(text, bytes))
    return bind_text(to, at, text);
  return sqlite3_bind_blob64(to, at, bytes, size, SQLITE_STATIC);
}

} // namespace

binding binding_of(const target_column& column, bool numeric_as_number) noexcept {
  switch (column.what) {
    case kind::boolean:
      return binding::boolean;
    case kind::integer:
      return binding::integer;
    case kind::floating:
      return binding::floating;
    case kind::decimal:
      return numeric_as_number && !column.is_key ? binding::number : binding::text;
    case kind::bytes:
      return binding::blob;
    case kind::text:
    case kind::json:
    case kind::date:
    case kind::time:
    case kind::timestamp:
    case kind::timestamptz:
    case kind::array:
    case kind::set:
    case kind::enumeration:
    case kind::bit:
    case kind::geometry:
    case kind::other:
      return binding::text;
  }
  return binding::text;
}

int bind_value(sqlite3_stmt* to, int at, binding how, std::string_view text,
               blob_space& space) noexcept {
  switch (how) {
    case binding::text:
      return bind_text(to, at, text);
    case binding::integer:
      return bind_integer(to, at, text);
    case binding::boolean:
      if (text == "t" || text == "f")
        return sqlite3_bind_int64(to, at, text.front() == 't');
      return bind_integer(to, at, text);
    case binding::floating:
      return bind_double(to, at, text);
    case binding::number:
      return bind_number(to, at, text);
    case binding::blob:
      return bind_blob(to, at, text, space);
  }
  return SQLITE_INTERNAL;
}

bool decode_hex(std::string_view text, char* out) noexcept {
  if (!text.starts_with("\\x") || text.size() % 2 != 0)
    return false;
  int all = 0;
  for (std::size_t i = 2; i < text.size(); i += 2) {
    const int byte = byte_of_hex(text.data() + i);
    all |= byte;
    *out++ = static_cast<char>(byte);
  }
  return all >= 0;
}

} // namespace cdc::sinks::sqlite
