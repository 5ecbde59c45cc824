#include "engine/refetch_list.hpp"

#include <algorithm>

namespace cdc::engine {

std::size_t refetch_list::size() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(items_, [](const auto& each) { return each.second.is_listed; }));
}

refetch* refetch_list::find(std::string_view key) {
  if (items_.empty())
    return nullptr;
  const auto found = items_.find(key);
  return found == items_.end() ? nullptr : &found->second;
}

void refetch_list::add(std::string_view key) {
  auto* known = find(key);
  if (known == nullptr)
    known = &items_[std::string{key}];
  known->is_listed = true;
  known->removal = 0;
}

void refetch_list::leave(std::string_view key, std::uint64_t number) {
  if (auto* item = find(key); item != nullptr && item->is_open())
    item->removal = number;
}

void refetch_list::leave_all(std::uint64_t number) {
  for (auto& [key, item] : items_) {
    if (item.is_open())
      item.removal = number;
  }
}

void refetch_list::void_removal(std::string_view key) {
  if (auto* item = find(key); item != nullptr)
    item->removal = 0;
}

void refetch_list::acknowledged(std::uint64_t number) {
  for (auto each = items_.begin(); each != items_.end();) {
    auto& item = each->second;
    if (item.is_listed && item.removal != 0 && item.removal <= number) {
      item.is_listed = false;
      item.removal = 0;
    }
    each = item.is_listed || item.at != refetch::stage::idle ? std::next(each) : items_.erase(each);
  }
}

void refetch_list::tidy(std::string_view key) {
  const auto found = items_.find(key);
  if (found != items_.end() && !found->second.is_listed && found->second.at == refetch::stage::idle)
    items_.erase(found);
}

} // namespace cdc::engine
