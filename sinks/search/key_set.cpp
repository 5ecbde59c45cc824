#include "sinks/search/key_set.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace cdc::sinks::search {

namespace {

std::uint64_t hash_of(std::uint16_t place, std::string_view id) noexcept {
  return std::hash<std::string_view>{}(id) + place * 0x9e3779b97f4a7c15ULL;
}

} // namespace

key_set::key_set(std::size_t expected)
    : buckets_(std::bit_ceil(std::max<std::size_t>(expected * 2, 16)), none) {
  entries_.reserve(expected);
  ids_.reserve(expected * 12);
}

std::size_t key_set::find(std::uint16_t place, std::string_view what,
                          std::uint64_t hash) const noexcept {
  const auto mask = buckets_.size() - 1;
  auto at = static_cast<std::size_t>(hash) & mask;
  while (buckets_[at] != none) {
    const auto& it = entries_[buckets_[at]];
    if (it.hash == hash && it.place == place && id(buckets_[at]) == what)
      break;
    at = (at + 1) & mask;
  }
  return at;
}

std::uint32_t key_set::add(std::uint16_t place, std::string_view id) {
  const auto hash = hash_of(place, id);
  auto at = find(place, id, hash);
  if (buckets_[at] != none)
    return buckets_[at];
  if (entries_.size() * 2 >= buckets_.size()) {
    grow();
    at = find(place, id, hash);
  }
  buckets_[at] = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back({hash, ids_.size(), static_cast<std::uint32_t>(id.size()), place});
  ids_ += id;
  return buckets_[at];
}

void key_set::grow() {
  buckets_.assign(buckets_.size() * 2, none);
  const auto mask = buckets_.size() - 1;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    auto at = static_cast<std::size_t>(entries_[i].hash) & mask;
    while (buckets_[at] != none)
      at = (at + 1) & mask;
    buckets_[at] = i;
  }
}

bool key_set::contains(std::uint16_t place, std::string_view id,
                       std::uint64_t hash) const noexcept {
  return buckets_[find(place, id, hash)] != none;
}

bool key_set::meets(const key_set& other) const noexcept {
  const auto& small = size() < other.size() ? *this : other;
  const auto& large = size() < other.size() ? other : *this;
  for (std::uint32_t i = 0; i < small.size(); ++i)
    if (large.contains(small.place(i), small.id(i), small.entries_[i].hash))
      return true;
  return false;
}

} // namespace cdc::sinks::search
