#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace cdc::sinks {

/// JSON into bytes that are reused: no tree, no allocation once the buffer has grown. Puts no
/// commas and checks no nesting; whoever renders rows knows both.
class json_writer {
public:
  json_writer() = default;

  void clear() noexcept { size_ = 0; }
  /// Forgets everything behind the first `size` bytes, of which there are so many.
  void cut(std::size_t size) noexcept { size_ = size; }
  [[nodiscard]] std::string_view text() const noexcept { return {bytes_.get(), size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Appends bytes that are JSON already.
  void raw(std::string_view json) {
    char* at = reserve(json.size());
    if (!json.empty())
      std::memcpy(at, json.data(), json.size());
    size_ += json.size();
  }
  void raw(char json) {
    *reserve(1) = json;
    ++size_;
  }

  /// Appends text between quotes, escaped as RFC 8259 asks. Bytes that are not UTF-8 become U+FFFD.
  void string(std::string_view text);
  void number(std::uint64_t value);
  /// Exactly these digits where they are a number to JSON, and a string otherwise: NaN and the
  /// infinities are none.
  void number(std::string_view text);
  /// `t` and `f` as true and false; anything else as a number.
  void boolean(std::string_view text);

private:
  /// Room for `more` bytes behind what is there; does not count them.
  char* reserve(std::size_t more) {
    if (capacity_ - size_ < more) [[unlikely]]
      grow(more);
    return bytes_.get() + size_;
  }
  void grow(std::size_t more);

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// `text` as a JSON string.
[[nodiscard]] std::string as_json(std::string_view text);

/// True when `text` is a number by JSON's grammar, so that it may be written as it is.
[[nodiscard]] bool is_json_number(std::string_view text) noexcept;

} // namespace cdc::sinks
