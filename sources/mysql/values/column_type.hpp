#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/mysql/values/character_set.hpp"

/// The type of one column of MySQL or MariaDB: how the log lays its values out and what they mean.
/// A TABLE_MAP event and information_schema each tell a part of it.
namespace cdc::sources::mysql {

/// The layout of a value in a row image: MySQL's enum_field_types (mysql/field_types.h), MariaDB's
/// two compressed ones (mysql_com.h) among them. A column that the log calls `string` and that is
/// an ENUM or a SET has that one here.
enum class field_type : std::uint8_t {
  old_decimal = 0, ///< Before MySQL 5.0; never in a row event.
  tiny = 1,
  small = 2,
  integer = 3,
  float4 = 4,
  float8 = 5,
  null = 6,
  old_timestamp = 7, ///< Before MySQL 5.6, and MariaDB with mysql56_temporal_format=OFF.
  big = 8,
  medium = 9,
  date = 10,
  old_time = 11,
  old_datetime = 12,
  year = 13,
  new_date = 14, ///< In memory only: the log says `date`.
  varchar = 15,
  bit = 16,
  timestamp = 17,
  datetime = 18,
  time = 19,
  typed_array = 20,         ///< Of a multi-valued index; never in a row event.
  blob_compressed = 140,    ///< MariaDB: TEXT and BLOB … COMPRESSED.
  varchar_compressed = 141, ///< MariaDB: VARCHAR and VARBINARY … COMPRESSED.
  vector = 242,
  json = 245,
  decimal = 246,
  enumeration = 247,
  set = 248,
  tiny_blob = 249,
  medium_blob = 250,
  long_blob = 251,
  blob = 252,
  var_string = 253,
  string = 254,
  geometry = 255,
};

/// What only the catalogue knows of a column that the log shows as BINARY, VARBINARY or BLOB.
enum class disguise : std::uint8_t {
  none,
  uuid,   ///< MariaDB 10.7+: BINARY(16) in the log.
  inet4,  ///< MariaDB 10.10+: BINARY(4).
  inet6,  ///< MariaDB 10.5+: BINARY(16).
  vector, ///< MariaDB 11.7+: VARBINARY of little-endian floats.
  json,   ///< MariaDB: LONGTEXT under a check of JSON_VALID.
};

struct column_type {
  field_type field = field_type::null;
  std::uint8_t prefix = 0;    ///< Bytes of the length before a value of variable length: 1 to 4.
  std::uint8_t precision = 0; ///< decimal: digits in all, at most 65.
  std::uint8_t scale = 0;     ///< decimal: digits behind the point, at most 30.
  std::uint8_t fraction = 0;  ///< Times: digits of a second, 0 to 6.
  std::uint32_t length =
      0; ///< Characters types: bytes at most. bit: bits. enumeration, set: bytes.

  bool is_unsigned = false;
  disguise shown_as = disguise::none;
  character_set charset = character_set::binary;
  std::vector<std::string> labels{}; ///< ENUM and SET, UTF-8, in the order of their numbers.
  std::string name{};                ///< DATA_TYPE where the catalogue told it: `varchar`, `point`.

  /// Whether the source of this type said so: a TABLE_MAP of binlog_row_metadata = MINIMAL (or
  /// MariaDB's NO_LOG) leaves some of it open. False: the fields above hold their defaults.
  bool has_sign = false;    ///< is_unsigned
  bool has_charset = false; ///< charset
  bool has_labels = false;  ///< labels

  bool operator==(const column_type&) const = default;
};

/// One row of information_schema.COLUMNS, its values in UTF-8.
struct catalogue_type {
  std::string_view data_type{};          ///< DATA_TYPE
  std::string_view column_type{};        ///< COLUMN_TYPE: `enum('a','b')`, `bigint(20) unsigned`.
  std::string_view character_set_name{}; ///< CHARACTER_SET_NAME; empty when NULL.
  std::uint64_t octet_length = 0;        ///< CHARACTER_OCTET_LENGTH; 0 when NULL.
  bool is_json_checked = false;          ///< MariaDB: a check constraint `json_valid(…)` on it.
};

/// The type as the catalogue knows it, complete in meaning. Its layout is the one a server of today
/// would log; old temporal formats are seen in a TABLE_MAP only.
/// errc::source_misconfigured for a type or a character set that we do not know.
[[nodiscard]] result<column_type> type_from_catalogue(const catalogue_type& row);

/// Fills what a TABLE_MAP left open in `logged` (sign, character set, labels, disguise, name, the
/// digits of an old temporal type) from what the catalogue says of the same column. False, and
/// `logged` as it was, when the two cannot be one column: another family, length, precision or
/// number of digits.
[[nodiscard]] bool complete(column_type& logged, const column_type& known);

/// True when values can be rendered: nothing that matters to its layout is open.
[[nodiscard]] bool is_complete(const column_type& type) noexcept;

/// What the canonical text of its values means.
[[nodiscard]] kind kind_of(const column_type& type) noexcept;

/// DATA_TYPE, or what the layout allows to say of it: `varchar`, `blob`, `int`.
[[nodiscard]] std::string_view type_name(const column_type& type) noexcept;

/// The column of a relation. Its keys and whether it is generated are for the caller to fill.
[[nodiscard]] column make_column(std::string name, const column_type& type);

} // namespace cdc::sources::mysql
