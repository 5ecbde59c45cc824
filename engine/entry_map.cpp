#include "engine/entry_map.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace cdc::engine {

namespace {

constexpr std::size_t slots_kept_max = 8192;

std::uint32_t hash_of(std::string_view key) noexcept {
  const auto wide = std::uint64_t{std::hash<std::string_view>{}(key)};
  return static_cast<std::uint32_t>(wide ^ wide >> 32);
}

} // namespace

void entry::become(entry_state now, transaction_id id, std::uint64_t change_number) noexcept {
  state = now;
  is_born = false;
  is_missing = false;
  is_kept = false;
  last = id;
  first = id;
  number = change_number;
  asked = change_number;
}

entry* entry_map::find(std::string_view key) noexcept {
  if (size_ == 0)
    return nullptr;
  const auto* slot = slot_of(key, hash_of(key));
  if (*slot == free || entries_[*slot].state == entry_state::none)
    return nullptr;
  return &entries_[*slot];
}

entry& entry_map::add(std::string_view key) {
  if ((entries_.size() + 1) * 2 > slots_.size())
    index();
  const auto hash = hash_of(key);
  auto* slot = slot_of(key, hash);
  if (*slot == free) {
    *slot = static_cast<std::uint32_t>(entries_.size());
    auto& made = entries_.emplace_back();
    made.key_at = static_cast<std::uint32_t>(keys_.size());
    made.key_size = static_cast<std::uint32_t>(key.size());
    made.hash = hash;
    keys_.append(key);
  }
  auto& out = entries_[*slot];
  if (out.state == entry_state::none)
    ++size_;
  return out;
}

void entry_map::remove(entry& gone) noexcept {
  if (gone.state == entry_state::none)
    return;
  set_cells(gone, {});
  gone.state = entry_state::none;
  --size_;
}

void entry_map::clear() {
  // A few entries come and go with every batch: what they need is kept. A large map is given back.
  if (slots_.size() > slots_kept_max) {
    std::vector<std::uint32_t>{}.swap(slots_);
    std::vector<entry>{}.swap(entries_);
    std::string{}.swap(keys_);
  } else {
    std::ranges::fill(slots_, free);
    entries_.clear();
    keys_.clear();
  }
  size_ = 0;
  cells_bytes_ = 0;
}

std::size_t entry_map::bytes() const noexcept {
  return slots_.size() * sizeof(std::uint32_t) + entries_.size() * sizeof(entry) + keys_.size() +
         cells_bytes_;
}

/// The slot that has the key, or the free one where it belongs.
std::uint32_t* entry_map::slot_of(std::string_view key, std::uint32_t hash) noexcept {
  const auto mask = slots_.size() - 1;
  for (auto at = hash & mask;; at = (at + 1) & mask) {
    auto& slot = slots_[at];
    if (slot == free)
      return &slot;
    const auto& there = entries_[slot];
    if (there.hash == hash && key_of(there) == key)
      return &slot;
  }
}

void entry_map::set_cells(entry& of, supplied_cells cells) noexcept {
  cells_bytes_ += cells.bytes();
  cells_bytes_ -= of.cells.bytes();
  of.cells = std::move(cells);
}

void entry_map::tidy() {
  if (size_ == 0) {
    clear();
    return;
  }
  if (entries_.size() < 2 * size_ + 16)
    return;
  std::string keys;
  keys.swap(keys_);
  std::erase_if(entries_, [&](entry& each) {
    if (each.state == entry_state::none)
      return true;
    const auto key = std::string_view{keys}.substr(each.key_at, each.key_size);
    each.key_at = static_cast<std::uint32_t>(keys_.size());
    keys_.append(key);
    return false;
  });
  index();
}

/// Makes the slots anew, with room for as many entries again.
void entry_map::index() {
  slots_.assign(std::bit_ceil(std::max<std::size_t>(entries_.size() * 4, 16)), free);
  const auto mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    auto at = entries_[i].hash & mask;
    while (slots_[at] != free)
      at = (at + 1) & mask;
    slots_[at] = i;
  }
}

} // namespace cdc::engine
