#include "messages/json.hpp"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "messages/utf8.hpp"

namespace cdc::json {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

constexpr bool is_plain(unsigned char byte) noexcept {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

void append_escape(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\u00";
      out += digits[byte >> 4U];
      out += digits[byte & 0xFU];
  }
}

} // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t at = 0;
  while (at < text.size()) {
    const auto start = at;
    while (at < text.size() && is_plain(static_cast<unsigned char>(text[at])))
      ++at;
    out.append(text, start, at - start);
    if (at == text.size())
      break;
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      append_escape(out, byte);
      ++at;
    } else if (const auto size = utf8_sequence(text, at); size != 0) {
      out.append(text, at, size);
      at += size;
    } else {
      out += replacement;
      ++at;
    }
  }
  out += '"';
}

void append_number(std::string& out, double value) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(out), "{}", value);
  else
    out += "null";
}

void writer::separate() {
  if (needs_comma_)
    out_ += ',';
  needs_comma_ = true;
}

writer& writer::begin_object() {
  separate();
  out_ += '{';
  needs_comma_ = false;
  return *this;
}

writer& writer::end_object() {
  out_ += '}';
  needs_comma_ = true;
  return *this;
}

writer& writer::begin_array() {
  separate();
  out_ += '[';
  needs_comma_ = false;
  return *this;
}

writer& writer::end_array() {
  out_ += ']';
  needs_comma_ = true;
  return *this;
}

writer& writer::key(std::string_view name) {
  separate();
  append_string(out_, name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

writer& writer::null() {
  separate();
  out_ += "null";
  return *this;
}

writer& writer::value(std::string_view text) {
  separate();
  append_string(out_, text);
  return *this;
}

writer& writer::value(bool yes) {
  separate();
  out_ += yes ? "true" : "false";
  return *this;
}

writer& writer::value(double number) {
  separate();
  append_number(out_, number);
  return *this;
}

writer& writer::value(std::int64_t number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return *this;
}

writer& writer::value(std::uint64_t number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return *this;
}

} // namespace cdc::json
