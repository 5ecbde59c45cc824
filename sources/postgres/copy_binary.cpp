#include "sources/postgres/copy_binary.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace cdc::sources::postgres {

namespace {

using bytes = std::span<const std::byte>;

constexpr std::array<unsigned char, 11> signature{'P',  'G',  'C',  'O',  'P', 'Y',
                                                  '\n', 0xff, '\r', '\n', 0};
// Signature, flags, length of the extension.
constexpr std::size_t header_size = signature.size() + 8;
constexpr std::size_t row_head = 6; // Number of fields, length of the first.
constexpr std::uint16_t trailer = 0xffff;

std::uint32_t read_u32(bytes from, std::size_t at) noexcept {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i)
    out = out << 8 | std::to_integer<std::uint32_t>(from[at + i]);
  return out;
}

std::uint16_t read_u16(bytes from) noexcept {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(from[0]) << 8 |
                                    std::to_integer<unsigned>(from[1]));
}

tl::unexpected<error> malformed(std::size_t size) {
  return fail(errc::malformed_message, "binary COPY: a message of {} bytes is no row of one column",
              size);
}

/// What follows the header.
result<bytes> without_header(bytes message) {
  const auto is_header = message.size() >= header_size &&
                         std::equal(signature.begin(), signature.end(), message.begin(),
                                    [](unsigned char a, std::byte b) { return std::byte{a} == b; });
  // A flag in the upper half changes the format itself; today's only one brings OIDs.
  if (!is_header || read_u32(message, signature.size()) >> 16 != 0)
    return fail(errc::malformed_message, "binary COPY: {} bytes are no header", message.size());
  const auto extension = read_u32(message, signature.size() + 4);
  if (extension > message.size() - header_size)
    return malformed(message.size());
  return message.subspan(header_size + extension);
}

} // namespace

result<std::optional<bytes>> copy_binary::take(bytes message) {
  auto row = message;
  if (!has_begun_) {
    const auto rest = without_header(message);
    if (!rest)
      return tl::unexpected(rest.error());
    has_begun_ = true;
    if (rest->empty())
      return std::nullopt;
    row = *rest;
  }
  if (row.size() == 2 && read_u16(row) == trailer)
    return std::nullopt;
  if (row.size() < row_head || read_u16(row) != 1 || read_u32(row, 2) != row.size() - row_head)
    return malformed(message.size());
  return row.subspan(row_head);
}

} // namespace cdc::sources::postgres
