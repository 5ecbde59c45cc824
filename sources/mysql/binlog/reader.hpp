#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "sources/byte_reader.hpp"

namespace cdc::sources::mysql {

/// Reads the body of a binlog event: little-endian numbers and the protocol's length-encoded ones
/// (MySQL's manual, "Protocol::LengthEncodedInteger").
class log_reader : public byte_reader {
public:
  using byte_reader::byte_reader;

  /// A number of `size` bytes, at most eight.
  [[nodiscard]] std::uint64_t little(std::size_t size) noexcept {
    const auto bytes = text(size);
    std::uint64_t out = 0;
    std::memcpy(&out, bytes.data(), bytes.size());
    return out;
  }

  /// NULL (0xfb) and 0xff, which are no numbers, read as 0 and make the reader fail.
  [[nodiscard]] std::uint64_t packed() noexcept {
    const auto first = integer<std::uint8_t>();
    if (first < 0xfb)
      return first;
    switch (first) {
      case 0xfc:
        return little(2);
      case 0xfd:
        return little(3);
      case 0xfe:
        return little(8);
      default:
        // There is no such text: the reader fails where it stands.
        return text(remaining() + 1).size();
    }
  }

  [[nodiscard]] std::string_view packed_text() noexcept {
    return text(static_cast<std::size_t>(packed()));
  }

  void skip(std::size_t size) noexcept { [[maybe_unused]] const auto skipped = text(size); }
};

} // namespace cdc::sources::mysql
