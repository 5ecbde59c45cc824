#include "sinks/search/value_writer.hpp"

#include <array>
#include <cstring>

#include <simdjson.h>

#include "sinks/hex.hpp"

namespace cdc::sinks::search {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Turns `\x…` into base64, piece by piece; false when it is not that.
template <class Append>
bool to_base64(std::string_view text, Append append) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0)
    return false;
  text.remove_prefix(2);
  std::array<char, 4> out{};
  while (!text.empty()) {
    const auto bytes = std::min<std::size_t>(text.size() / 2, 3);
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const int byte = i < bytes ? byte_of_hex(text.data() + 2 * i) : 0;
      if (byte < 0)
        return false;
      group = group << 8U | static_cast<unsigned>(byte);
    }
    for (std::size_t i = 0; i < 4; ++i)
      out[i] = i > bytes ? '=' : alphabet[group >> (18 - 6 * i) & 63U];
    append(std::string_view{out.data(), out.size()});
    text.remove_prefix(bytes * 2);
  }
  return true;
}

bool is_null_word(std::string_view text) noexcept {
  const auto is = [&](std::size_t at, char letter) { return (text[at] | 0x20) == letter; };
  return text.size() == 4 && is(0, 'n') && is(1, 'u') && is(2, 'l') && is(3, 'l');
}

} // namespace

/// Checks a document without changing it: its UTF-8, its strings, and that its brackets are closed.
/// Numbers are looked at as text, so that no size of them matters.
class value_writer::validator {
public:
  bool accepts(std::string_view text) {
    if (buffer_.size() < text.size() + simdjson::SIMDJSON_PADDING)
      buffer_.resize((text.size() + simdjson::SIMDJSON_PADDING) * 2);
    std::memcpy(buffer_.data(), text.data(), text.size());
    std::memset(buffer_.data() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
    simdjson::ondemand::document document;
    if (parser_.iterate(buffer_.data(), text.size(), buffer_.size()).get(document) !=
        simdjson::SUCCESS)
      return false;
    simdjson::ondemand::json_type type{};
    if (document.type().get(type) != simdjson::SUCCESS)
      return false;
    if (type != simdjson::ondemand::json_type::object &&
        type != simdjson::ondemand::json_type::array)
      return accepts_scalar(text);
    std::string_view whole;
    if (document.raw_json().get(whole) != simdjson::SUCCESS)
      return false;
    const auto behind = static_cast<std::size_t>(whole.data() + whole.size() - buffer_.data());
    return text.find_first_not_of(space, behind) == std::string_view::npos;
  }

private:
  static constexpr std::string_view space = " \t\r\n";

  static bool accepts_scalar(std::string_view text) {
    const auto first = text.find_first_not_of(space);
    text = text.substr(first, text.find_last_not_of(space) - first + 1);
    if (text.front() == '"')
      return text.size() > 1 && text.back() == '"';
    return text == "true" || text == "false" || text == "null" || is_json_number(text);
  }

  simdjson::ondemand::parser parser_;
  std::string buffer_;
};

value_writer::value_writer() : json_(std::make_unique<validator>()) {}
value_writer::~value_writer() = default;
value_writer::value_writer(value_writer&&) noexcept = default;
value_writer& value_writer::operator=(value_writer&&) noexcept = default;

void value_writer::write(const value_shape& how, std::string_view text, json_writer& out) {
  switch (how.what) {
    case kind::boolean:
      return out.boolean(text);
    case kind::integer:
    case kind::floating:
      return out.number(text);
    case kind::json:
      return write_json(text, out);
    case kind::bytes: {
      const auto begin = out.size();
      out.raw('"');
      if (to_base64(text, [&](std::string_view piece) { out.raw(piece); }))
        return out.raw('"');
      out.cut(begin);
      return out.string(text);
    }
    case kind::array: {
      const auto begin = out.size();
      if (write_array(how, text, out))
        return;
      out.cut(begin);
      return out.string(text);
    }
    case kind::decimal:
    case kind::text:
    case kind::date:
    case kind::time:
    case kind::timestamp:
    case kind::timestamptz:
    case kind::set:
    case kind::enumeration:
    case kind::bit:
    case kind::geometry:
    case kind::other:
      return out.string(text);
  }
}

void value_writer::append_to_id(const value_shape& how, std::string_view text, std::string& out) {
  if (how.what == kind::boolean && (text == "t" || text == "f")) {
    out += text == "t" ? "true" : "false";
    return;
  }
  const auto begin = out.size();
  if (how.what == kind::bytes && to_base64(text, [&](std::string_view piece) { out += piece; }))
    return;
  out.resize(begin);
  out += text;
}

// What the parser does not take would spoil the whole request, so it goes as a string.
void value_writer::write_json(std::string_view text, json_writer& out) {
  if (json_->accepts(text))
    splice(text, out);
  else
    out.string(text);
}

/// `[2:3]={1,"a b",NULL,{…}}` of any dimension, brace by brace; false when it is not that.
bool value_writer::write_array(const value_shape& how, std::string_view text, json_writer& out) {
  if (text.starts_with('[')) // lower bounds
    text.remove_prefix(std::min(text.find('=') + 1, text.size()));
  const value_shape element{how.element, kind::other, ','};
  std::size_t depth = 0;
  bool wants_element = true; // or a brace
  bool is_after_delimiter = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '{') {
      if (!wants_element)
        return false;
      out.raw('[');
      ++depth;
    } else if (letter == '}') {
      if (depth == 0 || is_after_delimiter)
        return false;
      out.raw(']');
      wants_element = false;
      if (--depth == 0)
        break;
    } else if (letter == how.delimiter) {
      if (wants_element || depth == 0)
        return false;
      out.raw(',');
      wants_element = is_after_delimiter = true;
      continue;
    } else if (depth == 0 || !wants_element) {
      return false;
    } else if (letter == '"') {
      element_.clear();
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size())
          ++at;
        element_ += text[at];
      }
      write(element, element_, out);
      wants_element = false;
    } else {
      element_.clear();
      for (; at < text.size() && text[at] != how.delimiter && text[at] != '}'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size())
          ++at;
        element_ += text[at];
      }
      --at;
      if (is_null_word(element_))
        out.raw("null");
      else
        write(element, element_, out);
      wants_element = false;
    }
    is_after_delimiter = false;
  }
  return depth == 0 && at + 1 == text.size();
}

void splice(std::string_view json, json_writer& out) {
  while (!json.empty()) {
    const auto end = json.find_first_of("\r\n");
    out.raw(json.substr(0, end));
    if (end == std::string_view::npos)
      return;
    out.raw(' ');
    json.remove_prefix(end + 1);
  }
}

} // namespace cdc::sinks::search
