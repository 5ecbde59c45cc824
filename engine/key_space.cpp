#include "engine/key_space.hpp"

#include <algorithm>
#include <charconv>

namespace cdc::engine {

namespace {

// Both signed and unsigned 64-bit numbers, in one order: what is above the greatest signed one is
// unsigned, and a column is one or the other.
constexpr std::uint64_t sign = std::uint64_t{1} << 63;
constexpr std::uint32_t uuid_oid = 2950;

std::optional<std::uint64_t> ordered_integer(std::string_view text) {
  const auto* end = text.data() + text.size();
  std::int64_t value = 0;
  const auto [read, mistake] = std::from_chars(text.data(), end, value);
  if (mistake == std::errc{} && read == end)
    return static_cast<std::uint64_t>(value) ^ sign;
  return std::nullopt;
}

int digit(char character) {
  if (character >= '0' && character <= '9')
    return character - '0';
  if (character >= 'a' && character <= 'f')
    return character - 'a' + 10;
  return -1;
}

/// Lower case with dashes, as the server prints it, sorts by its text.
bool is_uuid(std::string_view text) {
  if (text.size() != 36)
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : digit(text[i]) < 0)
      return false;
  }
  return true;
}

void append_ordered(std::uint64_t value, std::string& out) {
  for (int shift = 56; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
}

/// The next value of an encoded key; false at its end.
bool take_value(std::string_view& encoded, std::string_view& value) {
  if (encoded.size() < 4)
    return false;
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size = size << 8 | static_cast<unsigned char>(encoded[i]);
  if (encoded.size() - 4 < size)
    return false;
  value = encoded.substr(4, size);
  encoded.remove_prefix(4 + std::size_t{size});
  return true;
}

bool covers_everything(const std::vector<load_range>& ranges) {
  if (ranges.empty() || !ranges.front().from.empty() || !ranges.back().to.empty())
    return false;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].from.empty() || ranges[i].from != ranges[i - 1].to)
      return false;
  }
  return true;
}

} // namespace

key_space::key_space(const relation& shape, const load_plan& plan) {
  if (plan.scheme != range_scheme::key || plan.by_page || shape.key.empty() ||
      !covers_everything(plan.ranges))
    return;
  std::vector<part> parts;
  for (const auto at : shape.key) {
    const auto& column = shape.columns[at];
    if (column.what == kind::integer && !column.is_unsigned)
      parts.push_back(part::integer);
    else if (column.type_oid == uuid_oid || column.type_name == "uuid")
      parts.push_back(part::uuid);
    else
      return;
  }
  std::vector<std::string> bounds;
  std::vector<std::uint64_t> integers;
  for (std::size_t i = 1; i < plan.ranges.size(); ++i) {
    const auto& values = plan.ranges[i].from;
    auto& bound = bounds.emplace_back();
    if (values.size() > parts.size())
      return;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto number = ordered_integer(values[k]);
      if (parts[k] == part::integer ? !number : !is_uuid(values[k]))
        return;
      if (parts[k] == part::integer)
        append_ordered(*number, bound);
      else
        bound += values[k];
      if (parts.size() == 1 && number)
        integers.push_back(*number);
    }
  }
  if (!std::ranges::is_sorted(bounds))
    return;
  parts_ = std::move(parts);
  bounds_ = std::move(bounds);
  integer_bounds_ = std::move(integers);
}

std::uint32_t key_space::range_of(std::string_view encoded) const {
  if (parts_.empty())
    return any;
  if (parts_.size() == 1 && parts_.front() == part::integer)
    return range_of_integer(encoded);
  std::string ordered;
  std::string_view value;
  for (const auto each : parts_) {
    if (!take_value(encoded, value))
      return any;
    if (each == part::uuid) {
      if (!is_uuid(value))
        return any;
      ordered += value;
      continue;
    }
    const auto number = ordered_integer(value);
    if (!number)
      return any;
    append_ordered(*number, ordered);
  }
  return static_cast<std::uint32_t>(std::ranges::upper_bound(bounds_, ordered) - bounds_.begin());
}

std::uint32_t key_space::range_of_integer(std::string_view encoded) const {
  std::string_view value;
  if (!take_value(encoded, value))
    return any;
  const auto number = ordered_integer(value);
  if (!number)
    return any;
  return static_cast<std::uint32_t>(std::ranges::upper_bound(integer_bounds_, *number) -
                                    integer_bounds_.begin());
}

} // namespace cdc::engine
