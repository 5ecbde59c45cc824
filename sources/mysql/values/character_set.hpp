#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// The character sets of MySQL and MariaDB, and which one a collation belongs to.
namespace cdc::sources::mysql {

enum class character_set : std::uint8_t {
  binary, ///< Bytes that are no characters.
  utf8mb4,
  utf8mb3,
  ascii,
  latin1, ///< What the servers call latin1 is cp1252, its holes filled with C1 controls.
  latin2,
  latin5,
  latin7,
  armscii8,
  cp1250,
  cp1251,
  cp1256,
  cp1257,
  cp850,
  cp852,
  cp866,
  dec8,
  geostd8,
  greek,
  hebrew,
  hp8,
  keybcs2,
  koi8r,
  koi8u,
  macce,
  macroman,
  swe7,
  tis620,
  big5,
  cp932,
  eucjpms,
  euckr,
  gb18030,
  gb2312,
  gbk,
  sjis,
  ujis,
  ucs2,
  utf16,
  utf16le,
  utf32,
};

/// By CHARACTER_SET_NAME: `latin1`, `utf8mb4`; `utf8` is utf8mb3. None: a name we do not know.
[[nodiscard]] std::optional<character_set> find_character_set(std::string_view name) noexcept;

/// By the number of a collation (information_schema.COLLATIONS.ID), of MySQL up to 9.7 and MariaDB
/// up to 11.8. None: a number we do not know.
[[nodiscard]] std::optional<character_set> character_set_of(std::uint32_t collation) noexcept;

/// As the servers spell it.
[[nodiscard]] std::string_view to_string(character_set of) noexcept;

} // namespace cdc::sources::mysql
