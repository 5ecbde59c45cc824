#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/batcher.hpp"
#include "messages/relation.hpp"

namespace cdc::engine {

struct tracked_table;

/// One source shape and where its rows go. Decided once per shape; rows only read it.
struct route {
  relation_ptr shape;
  target_ref to;
  tracked_table* table = nullptr;    ///< Null: no section takes it.
  std::uint32_t columns = 0;         ///< Cells of an image.
  std::vector<std::uint16_t> key;    ///< As relation::key; empty: keyless.
  std::vector<std::uint16_t> used;   ///< Source columns that the target takes, the key's included.
  bool key_is_identity = false;      ///< Old tuples of the replica identity hold the whole key.
  action on_insert = action::upsert; ///< What a complete new row is to the target.
};

/// Finds the route of a block's relations. Routes stay where they are.
class routes {
public:
  /// Null: the shape was never added.
  [[nodiscard]] route* find(const relation_ptr& shape);

  /// `table` null: rows of the shape are filtered. The target's own shape names the key.
  route& add(const relation_ptr& shape, target_table_ptr target, tracked_table* table);

  /// The route added last for a table; null: none was.
  [[nodiscard]] route* latest_of(const tracked_table& table);

private:
  std::unordered_map<const relation*, std::unique_ptr<route>> by_shape_;
  std::unordered_map<const tracked_table*, route*> latest_;
  std::unordered_map<std::uint32_t, route*> by_oid_; ///< The one added last.
};

/// The whole key is in the before-image that the source sends of a changed or deleted row.
[[nodiscard]] bool holds_key(const route& of, before_image before) noexcept;

} // namespace cdc::engine
