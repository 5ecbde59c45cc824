#include "sources/mysql/values/character_set.hpp"

#include <algorithm>
#include <array>

namespace cdc::sources::mysql {

namespace {

using cs = character_set;

// In the order of the enumeration.
constexpr std::array<std::string_view, 41> names{
    "binary",  "utf8mb4",  "utf8mb3", "ascii",   "latin1",   "latin2", "latin5",
    "latin7",  "armscii8", "cp1250",  "cp1251",  "cp1256",   "cp1257", "cp850",
    "cp852",   "cp866",    "dec8",    "geostd8", "greek",    "hebrew", "hp8",
    "keybcs2", "koi8r",    "koi8u",   "macce",   "macroman", "swe7",   "tis620",
    "big5",    "cp932",    "eucjpms", "euckr",   "gb18030",  "gb2312", "gbk",
    "sjis",    "ujis",     "ucs2",    "utf16",   "utf16le",  "utf32",
};
static_assert(names.size() == static_cast<std::size_t>(cs::utf32) + 1);

struct run {
  std::uint16_t first;
  std::uint16_t last;
  character_set of;
};

// SELECT id, character_set_name FROM information_schema.collations of MySQL 9.7 and of MariaDB.
constexpr run runs[]{
    {1, 1, cs::big5},        {2, 2, cs::latin2},      {3, 3, cs::dec8},
    {4, 4, cs::cp850},       {5, 5, cs::latin1},      {6, 6, cs::hp8},
    {7, 7, cs::koi8r},       {8, 8, cs::latin1},      {9, 9, cs::latin2},
    {10, 10, cs::swe7},      {11, 11, cs::ascii},     {12, 12, cs::ujis},
    {13, 13, cs::sjis},      {14, 14, cs::cp1251},    {15, 15, cs::latin1},
    {16, 16, cs::hebrew},    {18, 18, cs::tis620},    {19, 19, cs::euckr},
    {20, 20, cs::latin7},    {21, 21, cs::latin2},    {22, 22, cs::koi8u},
    {23, 23, cs::cp1251},    {24, 24, cs::gb2312},    {25, 25, cs::greek},
    {26, 26, cs::cp1250},    {27, 27, cs::latin2},    {28, 28, cs::gbk},
    {29, 29, cs::cp1257},    {30, 30, cs::latin5},    {31, 31, cs::latin1},
    {32, 32, cs::armscii8},  {33, 33, cs::utf8mb3},   {34, 34, cs::cp1250},
    {35, 35, cs::ucs2},      {36, 36, cs::cp866},     {37, 37, cs::keybcs2},
    {38, 38, cs::macce},     {39, 39, cs::macroman},  {40, 40, cs::cp852},
    {41, 42, cs::latin7},    {43, 43, cs::macce},     {44, 44, cs::cp1250},
    {45, 46, cs::utf8mb4},   {47, 49, cs::latin1},    {50, 52, cs::cp1251},
    {53, 53, cs::macroman},  {54, 55, cs::utf16},     {56, 56, cs::utf16le},
    {57, 57, cs::cp1256},    {58, 59, cs::cp1257},    {60, 61, cs::utf32},
    {62, 62, cs::utf16le},   {63, 63, cs::binary},    {64, 64, cs::armscii8},
    {65, 65, cs::ascii},     {66, 66, cs::cp1250},    {67, 67, cs::cp1256},
    {68, 68, cs::cp866},     {69, 69, cs::dec8},      {70, 70, cs::greek},
    {71, 71, cs::hebrew},    {72, 72, cs::hp8},       {73, 73, cs::keybcs2},
    {74, 74, cs::koi8r},     {75, 75, cs::koi8u},     {76, 76, cs::utf8mb3},
    {77, 77, cs::latin2},    {78, 78, cs::latin5},    {79, 79, cs::latin7},
    {80, 80, cs::cp850},     {81, 81, cs::cp852},     {82, 82, cs::swe7},
    {83, 83, cs::utf8mb3},   {84, 84, cs::big5},      {85, 85, cs::euckr},
    {86, 86, cs::gb2312},    {87, 87, cs::gbk},       {88, 88, cs::sjis},
    {89, 89, cs::tis620},    {90, 90, cs::ucs2},      {91, 91, cs::ujis},
    {92, 93, cs::geostd8},   {94, 94, cs::latin1},    {95, 96, cs::cp932},
    {97, 98, cs::eucjpms},   {99, 99, cs::cp1250},    {101, 124, cs::utf16},
    {128, 151, cs::ucs2},    {159, 159, cs::ucs2},    {160, 183, cs::utf32},
    {192, 215, cs::utf8mb3}, {223, 223, cs::utf8mb3}, {224, 247, cs::utf8mb4},
    {248, 250, cs::gb18030}, {255, 271, cs::utf8mb4}, {273, 275, cs::utf8mb4},
    {277, 294, cs::utf8mb4}, {296, 298, cs::utf8mb4}, {300, 300, cs::utf8mb4},
    {303, 323, cs::utf8mb4}, {576, 578, cs::utf8mb3}, {608, 610, cs::utf8mb4},
    {640, 642, cs::ucs2},    {672, 674, cs::utf16},   {736, 738, cs::utf32},
};

// MariaDB: a NO PAD collation has its padded sister's number plus this (MY_NOPAD_ID of my_sys.h).
constexpr std::uint32_t nopad = 1024;

// MariaDB's UCA 14.0.0 collations start here, 256 numbers for each of these (ctype-uca1400.h).
constexpr std::uint32_t uca1400 = 2048;
constexpr std::array uca1400_sets{cs::utf8mb3, cs::utf8mb4, cs::ucs2, cs::utf16, cs::utf32};

} // namespace

std::optional<character_set> find_character_set(std::string_view name) noexcept {
  if (name == "utf8")
    return cs::utf8mb3;
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    return std::nullopt;
  return static_cast<character_set>(at - names.begin());
}

std::optional<character_set> character_set_of(std::uint32_t collation) noexcept {
  if (collation >= uca1400) {
    const auto at = (collation - uca1400) / 256;
    return at < uca1400_sets.size() ? std::optional{uca1400_sets[at]} : std::nullopt;
  }
  if (collation > nopad)
    collation -= nopad;
  const auto* const at = std::ranges::lower_bound(runs, collation, {}, &run::last);
  if (at == std::end(runs) || collation < at->first)
    return std::nullopt;
  return at->of;
}

std::string_view to_string(character_set of) noexcept {
  return names[static_cast<std::size_t>(of)];
}

} // namespace cdc::sources::mysql
