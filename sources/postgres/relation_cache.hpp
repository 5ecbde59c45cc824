#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "messages/relation.hpp"
#include "sources/postgres/pgoutput.hpp"

namespace cdc::sources::postgres {

/// What a stream says of a relation and what the catalogue says of it, brought together.
///
/// The stream names a relation's columns, types and identity, in force at that place of the log;
/// the catalogue adds what the stream does not carry (attribute numbers, kinds, the key's order)
/// and may be ahead. Where they differ the stream is right, and the catalogue's help is taken
/// column by column, by name and type.
class relation_cache {
public:
  struct entry {
    relation_ptr shape;      ///< Null: the catalogue has to be asked first.
    bool names_rows = false; ///< Its identity tells which row an update or delete is about.
  };

  /// The stream describes a relation, for the first time or again.
  void announce(const relation_message& message);

  /// The server begins anew and describes every relation again before its first row: that it says
  /// the same as before is no news then. `looks_again`: it is news all the same.
  void expect_again(bool looks_again);

  /// The catalogue describes one, asked for or not. Null answers wanted(): there is no such table
  /// any more; its last rows are read by what the stream says of it.
  void provide(relation_ptr shape);

  /// What rows of `oid` are decoded by; null: the stream never described it. The entry of the last
  /// call is found at once.
  [[nodiscard]] const entry* find(std::uint32_t oid);

  /// Asks for a relation whose entry has no shape yet.
  void want(std::uint32_t oid);

  /// The relation to ask the catalogue for, the same until it was provided.
  [[nodiscard]] std::optional<std::uint32_t> wanted() const noexcept;

private:
  struct announced_column {
    std::string name;
    std::uint32_t type_oid = 0;
    std::int32_t type_modifier = -1;
    bool is_identity_key = false;
  };
  struct known {
    bool announced = false;
    bool is_expected = false; ///< Its next description may be the one it had.
    table_id table;
    replica_identity identity = replica_identity::primary_key;
    std::vector<announced_column> columns;
    relation_ptr catalogue;       ///< As last provided; null once it was merged with.
    std::uint32_t generation = 0; ///< Of the shape used last.
    entry current;
  };

  [[nodiscard]] static bool says_the_same(const known& about, const relation_message& message);
  [[nodiscard]] static bool agrees(const known& about, const relation& shape);
  [[nodiscard]] static relation merge(const known& about, std::uint32_t oid);
  static void use(known& about, relation_ptr shape);
  void settle(std::uint32_t oid, known& about, bool from_catalogue);

  std::unordered_map<std::uint32_t, known> known_;
  std::deque<std::uint32_t> wanted_;
  std::uint32_t last_oid_ = 0;
  const entry* last_ = nullptr;
};

/// The ALTER TABLE that makes updates and deletes of this table name their rows again.
[[nodiscard]] std::string identity_remedy(const relation& shape);

} // namespace cdc::sources::postgres
