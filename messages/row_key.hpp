#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/block.hpp"
#include "messages/error.hpp"

namespace cdc {

/// A row's key as one string that sorts nowhere and compares by equality only: each value's length
/// (4 bytes, big endian) and bytes, in key order. Two rows of one table are the same row exactly
/// when their encoded keys are equal. Written to a buffer that the caller reuses.
void encode_key(const block& from, std::span<const cell> image, std::span<const std::uint16_t> key,
                std::string& out);

/// The values of an encoded key, in key order. They view `encoded`.
[[nodiscard]] result<std::vector<std::string_view>> decode_key(std::string_view encoded);

/// The reverse, from values.
[[nodiscard]] std::string encode_key(std::span<const std::string> values);

} // namespace cdc
