#include "engine/routes.hpp"

#include <algorithm>
#include <utility>

namespace cdc::engine {

namespace {

// The same columns of the same table, whoever described it: the key may have been named by a
// section on one side only, and a generation says when, not what.
bool are_alike(const relation& one, const relation& other) {
  return one.oid == other.oid && one.table == other.table && one.identity == other.identity &&
         std::ranges::equal(one.columns, other.columns, [](const column& a, const column& b) {
           return a.name == b.name && a.attribute == b.attribute && a.type_oid == b.type_oid &&
                  a.type_modifier == b.type_modifier && a.what == b.what &&
                  a.is_identity_key == b.is_identity_key;
         });
}

std::vector<std::uint16_t> used_columns(const target_table& target) {
  std::vector<std::uint16_t> out;
  for (const auto& each : target.columns) {
    if (each.source)
      out.push_back(*each.source);
  }
  return out;
}

std::vector<std::uint16_t> key_columns(const target_table& target) {
  std::vector<std::uint16_t> out;
  for (const auto at : target.key)
    out.push_back(target.columns[at].source.value_or(0));
  return out;
}

} // namespace

route* routes::find(const relation_ptr& shape) {
  if (const auto known = by_shape_.find(shape.get()); known != by_shape_.end())
    return known->second.get();
  const auto alike = by_oid_.find(shape->oid);
  if (alike == by_oid_.end() || !are_alike(*alike->second->shape, *shape))
    return nullptr;
  const auto& same = *alike->second;
  return &add(shape, same.to.table, same.table);
}

route& routes::add(const relation_ptr& shape, target_table_ptr target, tracked_table* table) {
  auto& known = by_shape_[shape.get()];
  if (!known)
    known = std::make_unique<route>();
  // One that is given again stays where it is: batches that are out name it.
  auto& out = *known;
  out = {};
  out.shape = shape;
  out.columns = static_cast<std::uint32_t>(shape->columns.size());
  if (target && table != nullptr) {
    out.table = table;
    out.key = key_columns(*target);
    out.used = used_columns(*target);
    out.key_is_identity = std::ranges::all_of(
        out.key, [&](std::uint16_t at) { return shape->columns[at].is_identity_key; });
    out.on_insert = out.key.empty() ? action::insert : action::upsert;
    out.to = {.table = std::move(target), .of = &out, .batch = 0, .at = 0};
  }
  by_oid_[shape->oid] = &out;
  if (table != nullptr)
    latest_[table] = &out;
  return out;
}

route* routes::latest_of(const tracked_table& table) {
  const auto found = latest_.find(&table);
  return found == latest_.end() ? nullptr : found->second;
}

bool holds_key(const route& of, before_image before) noexcept {
  return before == before_image::full || (before == before_image::key && of.key_is_identity);
}

} // namespace cdc::engine
