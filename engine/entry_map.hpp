#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/supplied_cells.hpp"

namespace cdc::engine {

enum class entry_state : std::uint8_t {
  none,    ///< Not an entry.
  whole,   ///< The target has the row as the stream left it.
  gone,    ///< The target lacks it as the stream does.
  partial, ///< The target may lack the row; `cells` is all that the stream supplied since `first`.
};

/// What the load rule remembers of one key.
struct entry {
  std::uint32_t key_at = 0; ///< In the map's arena.
  std::uint32_t key_size = 0;
  std::uint32_t hash = 0;
  std::uint32_t range = 0; ///< The range its key falls in, or key_space::any.
  entry_state state = entry_state::none;
  bool is_born = false;     ///< It began with a move to this key, by transaction `first`.
  bool is_missing = false;  ///< The target said so.
  bool is_kept = false;     ///< Its last change lists the key at the target if there is no row.
  transaction_id last = 0;  ///< id of the last transaction that touched it.
  transaction_id first = 0; ///< Partial: id of the one it began with.
  std::uint64_t number = 0; ///< Of its last change.
  std::uint64_t asked = 0;  ///< Partial: answers to earlier changes do not concern it.
  std::uint64_t version = 0;
  supplied_cells cells; ///< Partial: all that was supplied since `first`.

  void become(entry_state now, transaction_id id, std::uint64_t change_number) noexcept;
};

/// The entries of one table by encoded key. Compact: keys are in one arena, and an entry that is no
/// longer one keeps its place until the next sweep.
///
/// A pointer to an entry is good until the next add() or tidy().
class entry_map {
public:
  /// Null when there is no entry, or none any more.
  [[nodiscard]] entry* find(std::string_view key) noexcept;

  /// The entry of a key; a new one is of the state none, and the caller gives it a state at once.
  [[nodiscard]] entry& add(std::string_view key);

  void remove(entry& gone) noexcept;
  void clear();

  /// Gives the places of removed entries back, if they are many.
  void tidy();

  template <class Visitor>
  void for_each(Visitor&& visit) {
    for (auto& each : entries_) {
      if (each.state != entry_state::none)
        visit(each, key_of(each));
    }
  }

  [[nodiscard]] std::string_view key_of(const entry& of) const noexcept {
    return {keys_.data() + of.key_at, of.key_size};
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// Gives an entry other cells, or none.
  void set_cells(entry& of, supplied_cells cells) noexcept;

private:
  [[nodiscard]] std::uint32_t* slot_of(std::string_view key, std::uint32_t hash) noexcept;
  void index();

  static constexpr std::uint32_t free = 0xffff'ffff;

  std::vector<std::uint32_t> slots_; ///< Open addressing; a power of two, at most half full.
  std::vector<entry> entries_;
  std::string keys_;
  std::size_t size_ = 0;
  std::size_t cells_bytes_ = 0;
};

} // namespace cdc::engine
