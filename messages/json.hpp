#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cdc::json {

/// Appends `text` between quotes, escaped as RFC 8259 asks. Bytes that are not UTF-8 become U+FFFD,
/// so that what is written can always be parsed.
void append_string(std::string& out, std::string_view text);

/// Appends the shortest digits that read back as the same number; NaN and the infinities, which
/// JSON has no word for, as null.
void append_number(std::string& out, double value);

/// Writes one JSON text into a string it does not own; puts the commas. Calls must nest as the text
/// does: inside an object every value follows a key().
class writer {
public:
  explicit writer(std::string& out) noexcept : out_(out) {}

  writer& begin_object();
  writer& end_object();
  writer& begin_array();
  writer& end_array();

  writer& key(std::string_view name);

  writer& null();
  writer& value(std::string_view text);
  writer& value(const char* text) { return value(std::string_view{text}); }
  writer& value(bool yes);
  writer& value(double number);
  writer& value(std::int64_t number);
  writer& value(std::uint64_t number);
  writer& value(std::uint32_t number) { return value(std::uint64_t{number}); }
  writer& value(std::int32_t number) { return value(std::int64_t{number}); }

  /// A member of an object in one call.
  template <class T>
  writer& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }

private:
  void separate();

  std::string& out_;
  bool needs_comma_ = false;
};

} // namespace cdc::json
