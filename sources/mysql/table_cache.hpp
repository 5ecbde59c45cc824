#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/mysql/binlog/row_events.hpp"
#include "sources/mysql/binlog/table_map.hpp"

namespace cdc::sources::mysql {

/// What the log says of tables and what the catalogue says of them, brought together.
///
/// The log is right for the time of its rows; the catalogue may be ahead. Its shape is used where
/// names (with binlog_row_metadata = FULL) and types are those of the event. Where they are not it
/// is asked again; what then still differs is read by what the event says alone, or not at all.
class table_cache {
public:
  /// Whether rows of a table are wanted.
  using choice = std::function<bool(const table_id&)>;

  explicit table_cache(choice takes) : takes_(std::move(takes)) {}

  struct entry {
    std::vector<std::byte> body; ///< Of the event that described it.
    table_map map;
    bool is_taken = false;
    std::optional<row_decoder> rows; ///< None: not taken, or the catalogue is waited for.
  };

  enum class found : std::uint8_t { ready, held };

  /// A TABLE_MAP event. held: wanted() has to be provided first; then the same event again.
  [[nodiscard]] result<found> describe(const event_view& in, log_writer by);

  /// What rows of this number are read with; null: it was never described.
  [[nodiscard]] entry* find(std::uint64_t id) noexcept;

  [[nodiscard]] bool takes(const table_id& table) const { return takes_(table); }
  /// The shape that the catalogue gave last, or null.
  [[nodiscard]] relation_ptr shape_of(const table_id& table) const;

  /// Its definition may have changed: the catalogue is asked before the next of its rows.
  void changed(const table_id& table);

  void want(const table_id& table);
  [[nodiscard]] std::optional<std::uint32_t> wanted() const noexcept;
  /// Null answers wanted(): there is no such table any more.
  void provide(relation_ptr shape);

private:
  struct known_table {
    relation_ptr shape;
    bool is_stale = true;   ///< The catalogue has to be asked.
    bool was_asked = false; ///< Since it was stale; it may have said that there is no such table.
  };

  [[nodiscard]] result<row_decoder> fit(const table_map& map, const relation_ptr& shape) const;
  [[nodiscard]] result<row_decoder> from_event(const table_map& map,
                                               const relation_ptr& known) const;

  choice takes_;
  std::unordered_map<std::uint64_t, std::unique_ptr<entry>> entries_;
  std::unordered_map<std::uint32_t, known_table> known_;
  std::deque<std::uint32_t> wanted_;
  std::uint64_t last_id_ = 0;
  entry* last_ = nullptr;
};

} // namespace cdc::sources::mysql
