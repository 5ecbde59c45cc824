#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "messages/error.hpp"
#include "sources/mysql/values/character_set.hpp"

/// From any character set of the servers to UTF-8: the one place where text is converted, for the
/// log and for the load alike.
namespace cdc::sources::mysql {

struct character_table;

/// Cheap to copy; the tables behind it are made once a process and never change.
///
/// Single-byte sets are tables taken from the servers. Two-byte sets and longer are asked of the C
/// library once, with the characters that the servers read otherwise put right. utf8mb4, utf8mb3,
/// ascii and binary are copied as they are.
class utf8_converter {
public:
  /// Copies.
  utf8_converter() = default;

  /// errc::source_misconfigured when the C library lacks the set (Debian 13 has most of them in the
  /// package libc-gconv-modules-extra).
  [[nodiscard]] static result<utf8_converter> from(character_set set);

  /// Whether convert() is a plain copy.
  [[nodiscard]] bool copies() const noexcept { return !table_ && !unit_; }

  /// UTF-8 bytes that `size` bytes become at most.
  [[nodiscard]] std::size_t bound(std::size_t size) const noexcept {
    return copies() ? size : size * 3 + 4;
  }

  /// Writes `text` to `to`, which has room for bound(); returns the end of what was written. Bytes
  /// that are no character become U+FFFD, so nothing is refused.
  [[nodiscard]] char* convert(std::string_view text, char* to) const noexcept;

private:
  std::shared_ptr<const character_table> table_;
  std::uint8_t unit_ = 0; ///< UTF-16 and UTF-32: bytes of a unit.
  bool is_little_endian_ = false;
};

/// Writes one character, at most four bytes. What no Unicode character is becomes U+FFFD.
[[nodiscard]] char* write_utf8(char32_t character, char* to) noexcept;

} // namespace cdc::sources::mysql
