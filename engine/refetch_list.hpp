#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "messages/block.hpp"
#include "messages/snapshot.hpp"

namespace cdc::engine {

/// A key on the list, or one whose reading is still under way.
struct refetch {
  enum class stage : std::uint8_t {
    idle,  ///< Nobody reads it.
    asked, ///< Open: its snapshot is not known yet.
    held,  ///< Handed over; the row waits until the stream has passed `log_end`.
  };

  bool is_listed = false;
  std::uint64_t removal = 0; ///< The change that takes it off the list, once acknowledged.
  stage at = stage::idle;
  snapshot seen;
  position log_end;
  block_ptr row; ///< Null: there is no such row.

  /// On the list, and nothing on its way takes it off.
  [[nodiscard]] bool is_open() const noexcept { return is_listed && removal == 0; }
};

/// The keys of one table that must be read again.
class refetch_list {
public:
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept;

  [[nodiscard]] refetch* find(std::string_view key);
  void add(std::string_view key);

  /// The change with this number puts the key right.
  void leave(std::string_view key, std::uint64_t number);
  void leave_all(std::uint64_t number);
  /// A row may be missing again under this key.
  void void_removal(std::string_view key);

  /// Removals up to this number take effect.
  void acknowledged(std::uint64_t number);
  /// Forgets an item that is neither listed nor read.
  void tidy(std::string_view key);

  template <class Visitor>
  void for_each(Visitor&& visit) {
    for (auto& [key, item] : items_)
      visit(key, item);
  }

private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept {
      return std::hash<std::string_view>{}(key);
    }
  };

  std::unordered_map<std::string, refetch, hash, std::equal_to<>> items_;
};

} // namespace cdc::engine
