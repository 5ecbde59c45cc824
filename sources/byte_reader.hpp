#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace cdc::sources {

/// Reads a message front to back. The first read past the end makes the reader fail for good and
/// every later read return zero or nothing, so a decoder reads like the protocol's own table and
/// asks once, at its end, whether the bytes were all there.
///
/// Views returned live as long as the message.
class byte_reader {
public:
  explicit byte_reader(std::span<const std::byte> bytes) noexcept
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  /// Reads a big-endian integer.
  template <std::unsigned_integral T>
  [[nodiscard]] T integer() noexcept {
    if (!has(sizeof(T)))
      return 0;
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    if constexpr (sizeof(T) == 8)
      return __builtin_bswap64(value);
    else if constexpr (sizeof(T) == 4)
      return __builtin_bswap32(value);
    else if constexpr (sizeof(T) == 2)
      return __builtin_bswap16(value);
    else
      return value;
  }

  /// Reads `size` bytes as text.
  [[nodiscard]] std::string_view text(std::size_t size) noexcept {
    if (!has(size))
      return {};
    const std::string_view out{reinterpret_cast<const char*>(at_), size};
    at_ += size;
    return out;
  }

  /// Reads up to and over the next NUL.
  [[nodiscard]] std::string_view c_string() noexcept {
    const auto* nul = failed_ || at_ == end_ ? nullptr : std::memchr(at_, 0, remaining());
    if (!nul) {
      failed_ = true;
      return {};
    }
    const auto size = static_cast<std::size_t>(static_cast<const std::byte*>(nul) - at_);
    const auto out = text(size);
    ++at_;
    return out;
  }

  /// All that is left, unread.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return {at_, end_}; }

  [[nodiscard]] std::size_t remaining() const noexcept {
    return static_cast<std::size_t>(end_ - at_);
  }
  /// How many bytes were read.
  [[nodiscard]] std::size_t offset() const noexcept {
    return static_cast<std::size_t>(at_ - begin_);
  }

  [[nodiscard]] bool failed() const noexcept { return failed_; }

  /// True when every byte was read and none was missing.
  [[nodiscard]] bool complete() const noexcept { return !failed_ && at_ == end_; }

private:
  // Where a read fails the position stays, so that offset() names it; what follows is unreadable.
  [[nodiscard]] bool has(std::size_t size) noexcept {
    if (!failed_ && size <= remaining()) [[likely]]
      return true;
    failed_ = true;
    return false;
  }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  bool failed_ = false;
};

} // namespace cdc::sources
