#include "sources/mysql/values/utf8_converter.hpp"

#include <array>
#include <cstring>
#include <mutex>
#include <span>
#include <vector>

#include <iconv.h>

#include "sources/mysql/values/single_byte_sets.hpp"

namespace cdc::sources::mysql {

/// Code points by the bytes that spell them.
struct character_table {
  /// Of one byte. `more`: the byte begins a longer one.
  std::array<char32_t, 256> one{};
  std::vector<char32_t> two{};   ///< By both bytes, big-endian. Empty: a single-byte set.
  std::vector<char32_t> three{}; ///< EUC: behind 0x8f.
  std::vector<char32_t> four{};  ///< GB18030: linear from 81 30 81 30, the BMP's part.
};

namespace {

using cs = character_set;

constexpr char32_t nothing = 0xfffd;
constexpr char32_t more = 0xffff'ffff;

constexpr std::size_t gb18030_bmp = 39420;     ///< 81 30 81 30 to 84 31 a4 39.
constexpr std::size_t gb18030_beyond = 189000; ///< 90 30 81 30, which is U+10000.

struct replacement {
  std::uint16_t first;
  std::uint16_t last;
  char16_t character; ///< Of the first; the others follow.
};

// Where MySQL and MariaDB read a two-byte character otherwise than the C library's set of that
// name.
constexpr replacement of_sjis[]{{0x815f, 0x815f, 0x5c}};
constexpr replacement of_ujis[]{{0xa1c0, 0xa1c0, 0x5c},   {0xa1c1, 0xa1c1, 0x301c},
                                {0xa1c2, 0xa1c2, 0x2016}, {0xa1dd, 0xa1dd, 0x2212},
                                {0xa1f1, 0xa1f1, 0xa2},   {0xa1f2, 0xa1f2, 0xa3},
                                {0xa2cc, 0xa2cc, 0xac}};
// Of these the lead byte 0x8f is left out.
constexpr replacement of_ujis_three[]{{0xa2b7, 0xa2b7, 0x7e}, {0xa2c3, 0xa2c3, 0xa6}};
constexpr replacement of_big5[]{
    {0xa145, 0xa145, 0x2022}, {0xa14e, 0xa14e, 0xff64}, {0xa1c2, 0xa1c2, 0x203e},
    {0xa1e3, 0xa1e3, 0x223c}, {0xa1f2, 0xa1f2, 0x2641}, {0xa1f3, 0xa1f3, 0x2609},
    {0xa241, 0xa241, 0xff0f}, {0xa242, 0xa242, 0xff3c}, {0xa244, 0xa244, 0xa5},
    {0xa246, 0xa247, 0xa2},   {0xc6a1, 0xc6a1, 0x30fe}, {0xc6a2, 0xc6a3, 0x309d},
    {0xc6a4, 0xc6a4, 0x3005}, {0xc6a5, 0xc6f7, 0x3041}, {0xc6f8, 0xc6fe, 0x30a1},
    {0xc740, 0xc77e, 0x30a8}, {0xc7a1, 0xc7b0, 0x30e7}, {0xc7b1, 0xc7b2, 0x414},
    {0xc7b3, 0xc7b3, 0x401},  {0xc7b4, 0xc7ba, 0x416},  {0xc7bb, 0xc7cd, 0x423},
    {0xc7ce, 0xc7ce, 0x451},  {0xc7cf, 0xc7e8, 0x436},  {0xc7e9, 0xc7f2, 0x2460},
    {0xc7f3, 0xc7fc, 0x2474}};

struct library_set {
  character_set set;
  const char* name;
  std::span<const replacement> replacements{};
};

constexpr library_set library_sets[]{
    {cs::gbk, "GBK"},       {cs::sjis, "SJIS", of_sjis},      {cs::cp932, "CP932"},
    {cs::gb2312, "EUC-CN"}, {cs::ujis, "EUC-JP-MS", of_ujis}, {cs::eucjpms, "EUC-JP-MS"},
    {cs::euckr, "UHC"},     {cs::big5, "BIG5", of_big5},      {cs::gb18030, "GB18030"},
};

const single_byte::upper_half* single_byte_set(character_set set) noexcept {
  namespace sb = single_byte;
  switch (set) {
    case cs::latin1:
      return &sb::latin1;
    case cs::latin2:
      return &sb::latin2;
    case cs::latin5:
      return &sb::latin5;
    case cs::latin7:
      return &sb::latin7;
    case cs::armscii8:
      return &sb::armscii8;
    case cs::cp1250:
      return &sb::cp1250;
    case cs::cp1251:
      return &sb::cp1251;
    case cs::cp1256:
      return &sb::cp1256;
    case cs::cp1257:
      return &sb::cp1257;
    case cs::cp850:
      return &sb::cp850;
    case cs::cp852:
      return &sb::cp852;
    case cs::cp866:
      return &sb::cp866;
    case cs::dec8:
      return &sb::dec8;
    case cs::geostd8:
      return &sb::geostd8;
    case cs::greek:
      return &sb::greek;
    case cs::hebrew:
      return &sb::hebrew;
    case cs::hp8:
      return &sb::hp8;
    case cs::keybcs2:
      return &sb::keybcs2;
    case cs::koi8r:
      return &sb::koi8r;
    case cs::koi8u:
      return &sb::koi8u;
    case cs::macce:
      return &sb::macce;
    case cs::macroman:
      return &sb::macroman;
    case cs::tis620:
      return &sb::tis620;
    default:
      return nullptr;
  }
}

character_table ascii() {
  character_table out;
  for (std::size_t i = 0; i < out.one.size(); ++i)
    out.one[i] = i < 0x80 ? static_cast<char32_t>(i) : nothing;
  return out;
}

character_table make_single_byte(character_set set) {
  auto out = ascii();
  if (const auto* const upper = single_byte_set(set)) {
    for (std::size_t i = 0; i < upper->size(); ++i)
      out.one[i + 0x80] = (*upper)[i];
  }
  if (set == cs::swe7) {
    for (const auto& it : single_byte::swe7)
      out.one[it.byte] = it.character;
  }
  return out;
}

/// The C library's converter, asked one character at a time.
class library_converter {
public:
  explicit library_converter(const char* name) : handle_(iconv_open("UTF-32LE", name)) {}
  ~library_converter() {
    if (good())
      iconv_close(handle_);
  }
  library_converter(const library_converter&) = delete;
  library_converter& operator=(const library_converter&) = delete;

  [[nodiscard]] bool good() const noexcept {
    return handle_ != reinterpret_cast<iconv_t>(-1); // NOLINT: iconv_open's own way of saying it
  }

  [[nodiscard]] char32_t ask(std::initializer_list<std::size_t> bytes) const noexcept {
    std::array<char, 4> from{};
    std::size_t size = 0;
    for (const auto byte : bytes)
      from[size++] = static_cast<char>(byte);
    std::array<char, 16> to{};
    auto* in = from.data();
    auto* out = to.data();
    std::size_t room = to.size();
    iconv(handle_, nullptr, nullptr, nullptr, nullptr);
    const auto irreversible = iconv(handle_, &in, &size, &out, &room);
    if (irreversible == static_cast<std::size_t>(-1) || size != 0 || room != to.size() - 4)
      return nothing;
    char32_t character = 0;
    std::memcpy(&character, to.data(), sizeof character);
    return character;
  }

private:
  iconv_t handle_;
};

void put_right(std::vector<char32_t>& table, std::span<const replacement> what) {
  for (const auto& it : what) {
    for (std::size_t at = it.first; at <= it.last; ++at)
      table[at] = static_cast<char32_t>(it.character + (at - it.first));
  }
}

std::shared_ptr<const character_table> make_library(const library_set& set) {
  const library_converter library{set.name};
  if (!library.good())
    return nullptr;
  auto out = std::make_shared<character_table>(ascii());
  out->two.assign(0x10000, nothing);
  for (std::size_t lead = 0x80; lead < 0x100; ++lead) {
    out->one[lead] = library.ask({lead});
    for (std::size_t trail = 0x30; trail < 0x100; ++trail) {
      const auto it = library.ask({lead, trail});
      out->two[lead << 8U | trail] = it;
      if (it != nothing)
        out->one[lead] = more;
    }
  }
  put_right(out->two, set.replacements);
  if (set.set == cs::ujis || set.set == cs::eucjpms) {
    out->three.assign(0x10000, nothing);
    for (std::size_t high = 0xa1; high < 0xff; ++high) {
      for (std::size_t low = 0xa1; low < 0xff; ++low)
        out->three[high << 8U | low] = library.ask({0x8f, high, low});
    }
    if (set.set == cs::ujis)
      put_right(out->three, of_ujis_three);
    out->one[0x8f] = more;
  }
  if (set.set == cs::gb18030) {
    out->four.resize(gb18030_bmp);
    for (std::size_t i = 0; i < gb18030_bmp; ++i)
      out->four[i] =
          library.ask({0x81 + i / 12600, 0x30 + i / 1260 % 10, 0x81 + i / 10 % 126, 0x30 + i % 10});
  }
  return out;
}

std::shared_ptr<const character_table> table_of(character_set set) {
  static std::mutex mutex;
  static std::array<std::shared_ptr<const character_table>, 64> tables;
  const std::scoped_lock lock{mutex};
  auto& known = tables[static_cast<std::size_t>(set)];
  if (known)
    return known;
  for (const auto& it : library_sets) {
    if (it.set == set)
      return known = make_library(it);
  }
  return known = std::make_shared<character_table>(make_single_byte(set));
}

/// Reads one character of more than one byte at the front of `text` and says how long it is. What
/// is none is one byte long.
char32_t read_long(const character_table& by, std::string_view text, std::size_t& size) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  size = 1;
  if (text.size() < 2)
    return nothing;
  if (!by.three.empty() && byte(0) == 0x8f) {
    if (text.size() < 3)
      return nothing;
    const auto it = by.three[std::size_t{byte(1)} << 8U | byte(2)];
    size = it == nothing ? 1 : 3;
    return it;
  }
  if (!by.four.empty() && byte(1) >= 0x30 && byte(1) <= 0x39) {
    if (text.size() < 4 || byte(2) < 0x81 || byte(2) > 0xfe || byte(3) < 0x30 || byte(3) > 0x39)
      return nothing;
    const auto linear = ((std::size_t{byte(0)} - 0x81) * 10 + byte(1) - 0x30) * 1260 +
                        (std::size_t{byte(2)} - 0x81) * 10 + byte(3) - 0x30;
    size = 4;
    if (linear < by.four.size())
      return by.four[linear];
    return linear >= gb18030_beyond ? static_cast<char32_t>(linear - gb18030_beyond + 0x10000)
                                    : nothing;
  }
  const auto it = by.two[std::size_t{byte(0)} << 8U | byte(1)];
  size = it == nothing ? 1 : 2;
  return it;
}

char* convert_by_table(const character_table& by, std::string_view text, char* to) noexcept {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    auto character = by.one[lead];
    std::size_t size = 1;
    if (character < 0x80) {
      *to++ = static_cast<char>(character);
    } else {
      if (character == more)
        character = read_long(by, text, size);
      to = write_utf8(character, to);
    }
    text.remove_prefix(size);
  }
  return to;
}

char32_t unit_at(std::string_view text, std::size_t at, std::size_t size, bool little) noexcept {
  char32_t out = 0;
  for (std::size_t i = 0; i < size; ++i)
    out = out << 8U | static_cast<unsigned char>(text[at + (little ? size - 1 - i : i)]);
  return out;
}

char* convert_units(std::string_view text, std::size_t unit, bool little, char* to) noexcept {
  std::size_t at = 0;
  while (at + unit <= text.size()) {
    auto it = unit_at(text, at, unit, little);
    at += unit;
    if (unit == 2 && it >= 0xd800 && it < 0xdc00 && at + unit <= text.size()) {
      const auto low = unit_at(text, at, unit, little);
      if (low >= 0xdc00 && low < 0xe000) {
        it = 0x10000 + ((it - 0xd800) << 10U) + (low - 0xdc00);
        at += unit;
      }
    }
    to = write_utf8(it, to);
  }
  return at == text.size() ? to : write_utf8(nothing, to);
}

} // namespace

result<utf8_converter> utf8_converter::from(character_set set) {
  utf8_converter out;
  switch (set) {
    case cs::binary:
    case cs::utf8mb4:
    case cs::utf8mb3:
    case cs::ascii:
      return out;
    case cs::ucs2:
    case cs::utf16:
      out.unit_ = 2;
      return out;
    case cs::utf16le:
      out.unit_ = 2;
      out.is_little_endian_ = true;
      return out;
    case cs::utf32:
      out.unit_ = 4;
      return out;
    default:
      out.table_ = table_of(set);
      break;
  }
  if (!out.table_)
    return fail(errc::source_misconfigured,
                "the C library has no converter for {} (Debian: libc-gconv-modules-extra)",
                to_string(set));
  return out;
}

char* utf8_converter::convert(std::string_view text, char* to) const noexcept {
  if (table_)
    return convert_by_table(*table_, text, to);
  if (unit_ != 0)
    return convert_units(text, unit_, is_little_endian_, to);
  if (!text.empty())
    std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* write_utf8(char32_t character, char* to) noexcept {
  const auto put = [&](char32_t byte) { *to++ = static_cast<char>(byte); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0 | character >> 6U);
    put(0x80 | (character & 0x3fU));
  } else if (character < 0x10000) {
    if (character >= 0xd800 && character < 0xe000)
      character = nothing;
    put(0xe0 | character >> 12U);
    put(0x80 | (character >> 6U & 0x3fU));
    put(0x80 | (character & 0x3fU));
  } else if (character < 0x110000) {
    put(0xf0 | character >> 18U);
    put(0x80 | (character >> 12U & 0x3fU));
    put(0x80 | (character >> 6U & 0x3fU));
    put(0x80 | (character & 0x3fU));
  } else {
    return write_utf8(nothing, to);
  }
  return to;
}

} // namespace cdc::sources::mysql
