#include "messages/row_key.hpp"

namespace cdc {

namespace {

void append(std::string_view value, std::string& out) {
  const auto size = static_cast<std::uint32_t>(value.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(size >> shift & 0xff));
  out.append(value);
}

} // namespace

void encode_key(const block& from, std::span<const cell> image, std::span<const std::uint16_t> key,
                std::string& out) {
  out.clear();
  for (const auto column : key) {
    const auto& at = image[column];
    append(at.has_value() ? from.text(at) : std::string_view{}, out);
  }
}

result<std::vector<std::string_view>> decode_key(std::string_view encoded) {
  std::vector<std::string_view> out;
  while (!encoded.empty()) {
    if (encoded.size() < 4)
      return fail(errc::malformed_message, "a stored key of {} bytes is cut short", encoded.size());
    std::uint32_t size = 0;
    for (int i = 0; i < 4; ++i)
      size = size << 8 | static_cast<unsigned char>(encoded[static_cast<std::size_t>(i)]);
    encoded.remove_prefix(4);
    if (encoded.size() < size)
      return fail(errc::malformed_message, "a stored key lacks {} bytes", size - encoded.size());
    out.push_back(encoded.substr(0, size));
    encoded.remove_prefix(size);
  }
  return out;
}

std::string encode_key(std::span<const std::string> values) {
  std::string out;
  for (const auto& value : values)
    append(value, out);
  return out;
}

} // namespace cdc
