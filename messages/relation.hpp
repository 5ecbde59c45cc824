#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cdc {

/// What a column's text means, whatever the source calls its type. Domains are resolved to their
/// base type before a kind is chosen. Renderers and binders switch on this and on nothing else.
enum class kind : std::uint8_t {
  boolean,     ///< PostgreSQL text: `t` or `f`.
  integer,     ///< Optional sign and digits; fits 64 bits, signed unless `is_unsigned`.
  floating,    ///< Shortest round-trip decimal, or NaN, Infinity, -Infinity.
  decimal,     ///< Exact decimal text of any length, or NaN, Infinity, -Infinity.
  text,        ///< UTF-8 characters.
  json,        ///< A JSON document, byte for byte.
  bytes,       ///< PostgreSQL text: `\x` and hex digits.
  date,        ///< YYYY-MM-DD, `infinity`, `… BC`.
  time,        ///< HH:MM:SS[.ffffff][±zone]
  timestamp,   ///< YYYY-MM-DD HH:MM:SS[.ffffff], no zone.
  timestamptz, ///< The same with a UTC offset.
  array,       ///< PostgreSQL array text `{…}` of `element`, separated by `delimiter`.
  set,         ///< MySQL SET.
  enumeration, ///< A label.
  bit,         ///< A string of 0 and 1.
  geometry,    ///< MySQL geometry.
  other,       ///< Any other type: its canonical text.
};

[[nodiscard]] std::string_view to_string(kind what) noexcept;

/// Schema and name. Never one joined string: `a.b` + `c` and `a` + `b.c` are different tables.
struct table_id {
  std::string schema;
  std::string name;

  auto operator<=>(const table_id&) const = default;
};

/// `schema.name`, for messages to people only.
[[nodiscard]] std::string to_string(const table_id& table);

struct column {
  std::string name{};
  std::int16_t attribute = 0; ///< PostgreSQL attnum: a dropped and re-added name has a new one.
  std::uint32_t type_oid = 0; ///< As declared; a domain's own OID.
  std::int32_t type_modifier = -1;
  kind what = kind::other;
  kind element = kind::other; ///< Of an array.
  char delimiter = ',';       ///< Of an array: pg_type.typdelim.
  bool is_unsigned = false;
  bool is_key = false;          ///< Part of the relation's key (see relation::key).
  bool is_identity_key = false; ///< Part of the replica identity: present in old tuples.
  bool is_generated = false; ///< GENERATED … STORED: never in the stream (before PostgreSQL 18).
  bool is_identity = false;  ///< GENERATED … AS IDENTITY.
  std::string type_name{};   ///< Base type as the server prints it: `numeric`, `varchar`.

  bool operator==(const column&) const = default;
};

/// REPLICA IDENTITY, as pg_class.relreplident spells it.
enum class replica_identity : char {
  primary_key = 'd', ///< DEFAULT: the primary key, if there is one.
  nothing = 'n',
  full = 'f',
  index = 'i',
};

/// What a source knows of a table of its own beside the shape. Nobody else looks into it.
struct relation_detail {
  virtual ~relation_detail() = default;
};

/// The shape of a source table at one time. Immutable: a new shape is a new object with a higher
/// generation, and blocks refer to the one that was in force when their rows were written.
///
/// `columns` are the columns of the stream, in the order of its tuples; the load selects the same
/// columns in the same order, so that a row has the same cells from either.
struct relation {
  table_id table{};
  std::uint32_t oid = 0; ///< Of the table the rows are published as (a partition's root).
  std::uint32_t generation = 0;
  replica_identity identity = replica_identity::primary_key;
  std::vector<column> columns{};
  std::vector<std::uint16_t> key{}; ///< Indexes into columns, in key order. Empty: keyless.
  std::shared_ptr<const relation_detail> detail{};

  [[nodiscard]] std::optional<std::size_t> find(std::string_view column_name) const noexcept;
};

using relation_ptr = std::shared_ptr<const relation>;

} // namespace cdc
