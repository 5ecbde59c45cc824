#include "sources/mysql/values/json_binary.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "sources/mysql/values/column_type.hpp"
#include "sources/mysql/values/render.hpp"
#include "sources/mysql/values/utf8_converter.hpp"

namespace cdc::sources::mysql {

namespace {

enum class node_type : std::uint8_t {
  small_object = 0,
  large_object = 1,
  small_array = 2,
  large_array = 3,
  literal = 4,
  int16 = 5,
  uint16 = 6,
  int32 = 7,
  uint32 = 8,
  int64 = 9,
  uint64 = 10,
  float8 = 11,
  string = 12,
  opaque = 15,
};

/// JSON_DOCUMENT_MAX_DEPTH of sql-common/json_syntax_check.h.
constexpr int depth_max = 100;

/// A value where it stands: `bytes` runs from its first byte to the end of what it may use.
struct value_view {
  node_type type = node_type::literal;
  std::string_view bytes{};
};

template <class T>
T read(std::string_view from, std::size_t at) noexcept {
  T out{};
  std::memcpy(&out, from.data() + at, sizeof out);
  return out;
}

constexpr bool is_object(node_type type) noexcept {
  return type == node_type::small_object || type == node_type::large_object;
}
constexpr bool is_array(node_type type) noexcept {
  return type == node_type::small_array || type == node_type::large_array;
}

/// An object or array taken apart without copying. element-count, size, key entries, value entries.
class container_view {
public:
  static std::optional<container_view> of(const value_view& it) noexcept {
    container_view out;
    out.is_object_ = mysql::is_object(it.type);
    out.width_ = it.type == node_type::large_object || it.type == node_type::large_array ? 4 : 2;
    if (it.bytes.size() < 2 * out.width_)
      return std::nullopt;
    out.bytes_ = it.bytes;
    out.count_ = out.offset_at(0);
    const auto size = out.offset_at(out.width_);
    if (size > it.bytes.size())
      return std::nullopt;
    out.bytes_ = it.bytes.substr(0, size);
    const auto entries = out.count_ * (out.key_entry() + out.value_entry());
    if (2 * out.width_ + entries > size)
      return std::nullopt;
    return out;
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] bool is_object() const noexcept { return is_object_; }

  [[nodiscard]] std::optional<std::string_view> key(std::size_t i) const noexcept {
    const auto at = 2 * width_ + i * key_entry();
    const auto begin = offset_at(at);
    const auto size = read<std::uint16_t>(bytes_, at + width_);
    if (begin > bytes_.size() || size > bytes_.size() - begin)
      return std::nullopt;
    return bytes_.substr(begin, size);
  }

  [[nodiscard]] std::optional<value_view> value(std::size_t i) const noexcept {
    const auto at = 2 * width_ + count_ * key_entry() + i * value_entry();
    const auto type = static_cast<node_type>(static_cast<unsigned char>(bytes_[at]));
    if (is_inlined(type))
      return value_view{type, bytes_.substr(at + 1, width_)};
    const auto begin = offset_at(at + 1);
    if (begin >= bytes_.size())
      return std::nullopt;
    return value_view{type, bytes_.substr(begin)};
  }

private:
  [[nodiscard]] std::size_t offset_at(std::size_t at) const noexcept {
    return width_ == 4 ? read<std::uint32_t>(bytes_, at) : read<std::uint16_t>(bytes_, at);
  }
  [[nodiscard]] std::size_t key_entry() const noexcept { return is_object_ ? width_ + 2 : 0; }
  [[nodiscard]] std::size_t value_entry() const noexcept { return width_ + 1; }
  [[nodiscard]] bool is_inlined(node_type type) const noexcept {
    switch (type) {
      case node_type::literal:
      case node_type::int16:
      case node_type::uint16:
        return true;
      case node_type::int32:
      case node_type::uint32:
        return width_ == 4;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  std::size_t count_ = 0;
  std::size_t width_ = 2;
  bool is_object_ = false;
};

/// Takes a length of seven bits a byte off the front, at most five bytes of it.
std::optional<std::size_t> take_varlen(std::string_view& from) noexcept {
  std::size_t out = 0;
  for (unsigned i = 0; i < 5 && i < from.size(); ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    out |= std::size_t{byte & 0x7fU} << 7U * i;
    if ((byte & 0x80U) == 0) {
      from.remove_prefix(i + 1);
      return out;
    }
  }
  return std::nullopt;
}

void append_quoted(std::string_view text, std::string& out) {
  constexpr std::string_view escaped = "\b\t\n\f\r\"\\";
  constexpr std::string_view letters = "btnfr\"\\";
  out += '"';
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\')
      continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    if (const auto at = escaped.find(text[i]); at != std::string_view::npos) {
      out += '\\';
      out += letters[at];
    } else {
      out += "\\u00";
      out += static_cast<char>('0' + (byte >> 4U));
      out += "0123456789abcdef"[byte & 15U];
    }
  }
  out.append(text, plain);
  out += '"';
}

/// As the server encodes what it cannot show, a line break behind every 76 characters.
void append_base64(std::string_view bytes, std::string& out) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t line = 76;
  std::size_t written = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    if (written == line) {
      out += "\\n";
      written = 0;
    }
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group =
          group << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      out += at + i > bytes.size() ? '=' : alphabet[group >> (18 - 6 * i) & 63U];
    written += 4;
  }
}

template <class Write>
void append_written(std::string& out, std::size_t room, Write write) {
  const auto before = out.size();
  out.resize(before + room);
  const char* const end = write(out.data() + before);
  out.resize(static_cast<std::size_t>(end - out.data()));
}

void append_float8(double value, std::string& out) {
  const auto before = out.size();
  append_written(out, floating_room, [&](char* to) { return write_floating(value, to); });
  if (out.find_first_of(".eN", before) == std::string::npos)
    out += ".0";
}

class printer {
public:
  printer(std::string& out, std::size_t limit) noexcept : out_(out), limit_(limit) {}

  bool print(const value_view& it, int depth) {
    if (out_.size() > limit_)
      return false;
    switch (it.type) {
      case node_type::small_object:
      case node_type::large_object:
      case node_type::small_array:
      case node_type::large_array:
        return depth < depth_max && print_container(it, depth);
      default:
        return print_scalar(it);
    }
  }

  bool print_scalar(const value_view& it) {
    switch (it.type) {
      case node_type::literal:
        return print_literal(it.bytes);
      case node_type::int16:
        return print_integer<std::int16_t>(it.bytes);
      case node_type::uint16:
        return print_integer<std::uint16_t>(it.bytes);
      case node_type::int32:
        return print_integer<std::int32_t>(it.bytes);
      case node_type::uint32:
        return print_integer<std::uint32_t>(it.bytes);
      case node_type::int64:
        return print_integer<std::int64_t>(it.bytes);
      case node_type::uint64:
        return print_integer<std::uint64_t>(it.bytes);
      case node_type::float8:
        if (it.bytes.size() < sizeof(double))
          return false;
        append_float8(read<double>(it.bytes, 0), out_);
        return true;
      case node_type::string: {
        auto bytes = it.bytes;
        const auto size = take_varlen(bytes);
        if (!size || *size > bytes.size())
          return false;
        append_quoted(bytes.substr(0, *size), out_);
        return true;
      }
      case node_type::opaque:
        return print_opaque(it.bytes);
      default:
        return false;
    }
  }

  void print_key(std::string_view key) {
    append_quoted(key, out_);
    out_ += ": ";
  }

private:
  bool print_container(const value_view& it, int depth) {
    const auto view = container_view::of(it);
    if (!view)
      return false;
    out_ += view->is_object() ? '{' : '[';
    for (std::size_t i = 0; i < view->count(); ++i) {
      if (i != 0)
        out_ += ", ";
      if (view->is_object()) {
        const auto key = view->key(i);
        if (!key)
          return false;
        print_key(*key);
      }
      const auto value = view->value(i);
      if (!value || !print(*value, depth + 1))
        return false;
    }
    out_ += view->is_object() ? '}' : ']';
    return true;
  }

  bool print_literal(std::string_view bytes) {
    if (bytes.empty())
      return false;
    switch (bytes.front()) {
      case 0:
        out_ += "null";
        return true;
      case 1:
        out_ += "true";
        return true;
      case 2:
        out_ += "false";
        return true;
      default:
        return false;
    }
  }

  template <class T>
  bool print_integer(std::string_view bytes) {
    if (bytes.size() < sizeof(T))
      return false;
    append_written(out_, integer_room,
                   [&](char* to) { return write_integer(read<T>(bytes, 0), to); });
    return true;
  }

  bool print_opaque(std::string_view bytes) {
    if (bytes.empty())
      return false;
    const auto type = static_cast<field_type>(static_cast<unsigned char>(bytes.front()));
    bytes.remove_prefix(1);
    const auto size = take_varlen(bytes);
    if (!size || *size > bytes.size())
      return false;
    bytes = bytes.substr(0, *size);
    switch (type) {
      case field_type::decimal:
        return print_decimal(bytes);
      case field_type::date:
      case field_type::new_date:
      case field_type::old_time:
      case field_type::old_datetime:
      case field_type::old_timestamp:
        return print_time(type, bytes);
      default:
        out_ += "\"base64:type";
        append_written(out_, integer_room,
                       [&](char* to) { return write_integer(static_cast<unsigned>(type), to); });
        out_ += ':';
        append_base64(bytes, out_);
        out_ += '"';
        return true;
    }
  }

  bool print_decimal(std::string_view bytes) {
    if (bytes.size() < 2)
      return false;
    const unsigned precision = static_cast<unsigned char>(bytes[0]);
    const unsigned scale = static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    if (precision == 0 || precision > 65 || scale > 30 || scale > precision ||
        bytes.size() < decimal_size(precision, scale))
      return false;
    bool good = true;
    append_written(out_, decimal_room, [&](char* to) {
      auto* const end = write_decimal(bytes, precision, scale, to);
      good = end != nullptr;
      return good ? end : to;
    });
    return good;
  }

  bool print_time(field_type type, std::string_view bytes) {
    if (bytes.size() < 8)
      return false;
    const auto packed = read<std::int64_t>(bytes, 0);
    out_ += '"';
    append_written(out_, time_room, [&](char* to) {
      if (type == field_type::old_time)
        return write_time(read_packed_time(packed), 6, to);
      const auto it = read_packed_datetime(packed);
      return type == field_type::date || type == field_type::new_date ? write_date(it, to)
                                                                      : write_datetime(it, 6, to);
    });
    out_ += '"';
    return true;
  }

  std::string& out_;
  std::size_t limit_;
};

/// No legal document prints longer: the shortest values are three bytes an entry.
std::size_t limit_of(std::string_view document) noexcept {
  return document.size() * 16 + 1024;
}

std::optional<value_view> view_of(std::string_view document) noexcept {
  if (document.empty())
    return std::nullopt;
  return value_view{static_cast<node_type>(static_cast<unsigned char>(document.front())),
                    document.substr(1)};
}

/// A document that can be changed: containers own their members, scalars are views of the input.
struct tree {
  value_view scalar{};
  bool is_object = false;
  bool is_array = false;
  std::vector<std::string> keys{};
  std::vector<tree> members{};
};

/// `budget` bounds how many nodes are made: overlapping offsets could ask for any number.
bool grow(const value_view& from, int depth, std::size_t& budget, tree& out) {
  if (budget == 0)
    return false;
  --budget;
  out.is_object = is_object(from.type);
  out.is_array = is_array(from.type);
  if (!out.is_object && !out.is_array) {
    out.scalar = from;
    return true;
  }
  const auto view = depth < depth_max ? container_view::of(from) : std::nullopt;
  if (!view)
    return false;
  for (std::size_t i = 0; i < view->count(); ++i) {
    if (out.is_object) {
      const auto key = view->key(i);
      if (!key)
        return false;
      out.keys.emplace_back(*key);
    }
    const auto value = view->value(i);
    if (!value || !grow(*value, depth + 1, budget, out.members.emplace_back()))
      return false;
  }
  return true;
}

bool print_tree(const tree& it, int depth, printer& to, std::string& out) {
  if (!it.is_object && !it.is_array)
    return to.print_scalar(it.scalar);
  if (depth >= depth_max)
    return false;
  out += it.is_object ? '{' : '[';
  for (std::size_t i = 0; i < it.members.size(); ++i) {
    if (i != 0)
      out += ", ";
    if (it.is_object)
      to.print_key(it.keys[i]);
    if (!print_tree(it.members[i], depth + 1, to, out))
      return false;
  }
  out += it.is_object ? '}' : ']';
  return true;
}

/// One step of a path: a member's name, or an index.
struct leg {
  bool is_member = false;
  std::string name{};
  std::size_t index = 0;
};

/// `\u` and four digits, a pair of them for what lies beyond the BMP.
bool read_escaped_character(std::string_view& text, std::string& out) {
  const auto take = [&](unsigned& unit) {
    if (text.size() < 4)
      return false;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + 4, unit, 16);
    if (wrong != std::errc{} || end != text.data() + 4)
      return false;
    text.remove_prefix(4);
    return true;
  };
  unsigned unit = 0;
  if (!take(unit))
    return false;
  char32_t character = unit;
  if (unit >= 0xd800 && unit < 0xdc00 && text.starts_with("\\u")) {
    text.remove_prefix(2);
    unsigned low = 0;
    if (!take(low))
      return false;
    character = 0x10000 + ((character - 0xd800) << 10U) + (low - 0xdc00);
  }
  std::array<char, 4> bytes{};
  const char* const end = write_utf8(character, bytes.data());
  out.append(bytes.data(), static_cast<std::size_t>(end - bytes.data()));
  return true;
}

bool read_quoted_name(std::string_view& text, std::string& out) {
  text.remove_prefix(1);
  while (!text.empty()) {
    const char it = text.front();
    text.remove_prefix(1);
    if (it == '"')
      return true;
    if (it != '\\') {
      out += it;
      continue;
    }
    if (text.empty())
      return false;
    const char letter = text.front();
    text.remove_prefix(1);
    constexpr std::string_view letters = "btnfr";
    constexpr std::string_view meant = "\b\t\n\f\r";
    if (letter == 'u') {
      if (!read_escaped_character(text, out))
        return false;
    } else if (const auto at = letters.find(letter); at != std::string_view::npos) {
      out += meant[at];
    } else {
      out += letter;
    }
  }
  return false;
}

/// `$.name."a name"[3]`
std::optional<std::vector<leg>> read_path(std::string_view text) {
  std::vector<leg> out;
  if (!text.starts_with('$'))
    return std::nullopt;
  text.remove_prefix(1);
  while (!text.empty()) {
    leg step;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      step.is_member = true;
      if (text.starts_with('"')) {
        if (!read_quoted_name(text, step.name))
          return std::nullopt;
      } else {
        const auto end = std::min(text.find_first_of(".["), text.size());
        step.name = text.substr(0, end);
        text.remove_prefix(end);
      }
    } else if (text.starts_with('[')) {
      const auto [end, wrong] =
          std::from_chars(text.data() + 1, text.data() + text.size(), step.index);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (wrong != std::errc{} || !text.starts_with(']'))
        return std::nullopt;
      text.remove_prefix(1);
    } else {
      return std::nullopt;
    }
    out.push_back(std::move(step));
  }
  return out;
}

/// Where a member is, or would stand: the server orders names by length, then by bytes.
std::size_t place_of(const tree& in, std::string_view name) noexcept {
  std::size_t at = 0;
  while (
      at < in.keys.size() &&
      (in.keys[at].size() != name.size() ? in.keys[at].size() < name.size() : in.keys[at] < name))
    ++at;
  return at;
}

tree* find(tree& in, const leg& step) noexcept {
  if (step.is_member) {
    const auto at = place_of(in, step.name);
    return in.is_object && at < in.keys.size() && in.keys[at] == step.name ? &in.members[at]
                                                                           : nullptr;
  }
  if (in.is_array)
    return step.index < in.members.size() ? &in.members[step.index] : nullptr;
  return step.index == 0 ? &in : nullptr; // anything else is an array of itself
}

template <class T>
auto at_index(std::vector<T>& in, std::size_t index) {
  return in.begin() + static_cast<std::ptrdiff_t>(std::min(index, in.size()));
}

enum class diff_operation : std::uint8_t { replace = 0, insert = 1, remove = 2 };

bool insert(tree& parent, const leg& step, tree value) {
  if (step.is_member) {
    if (!parent.is_object)
      return false;
    const auto at = place_of(parent, step.name);
    parent.keys.insert(at_index(parent.keys, at), step.name);
    parent.members.insert(at_index(parent.members, at), std::move(value));
    return true;
  }
  if (!parent.is_array)
    return false;
  parent.members.insert(at_index(parent.members, step.index), std::move(value));
  return true;
}

bool remove(tree& parent, const leg& step) {
  const auto* const child = find(parent, step);
  if (!child || child == &parent)
    return false;
  const auto at = static_cast<std::size_t>(child - parent.members.data());
  if (parent.is_object)
    parent.keys.erase(at_index(parent.keys, at));
  parent.members.erase(at_index(parent.members, at));
  return true;
}

bool apply(tree& root, diff_operation what, const std::vector<leg>& path, tree value) {
  if (path.empty()) {
    if (what != diff_operation::replace)
      return false;
    root = std::move(value);
    return true;
  }
  auto* parent = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    parent = find(*parent, path[i]);
    if (!parent)
      return false;
  }
  switch (what) {
    case diff_operation::replace: {
      auto* const child = find(*parent, path.back());
      if (!child)
        return false;
      *child = std::move(value);
      return true;
    }
    case diff_operation::insert:
      return insert(*parent, path.back(), std::move(value));
    case diff_operation::remove:
      return remove(*parent, path.back());
  }
  return false;
}

/// The protocol's length-encoded integer and as many bytes.
std::optional<std::string_view> take_counted(std::string_view& from) noexcept {
  if (from.empty())
    return std::nullopt;
  const auto first = static_cast<unsigned char>(from.front());
  from.remove_prefix(1);
  std::size_t size = first;
  const std::size_t width = first == 0xfc ? 2 : first == 0xfd ? 3 : first == 0xfe ? 8 : 0;
  if (first == 0xfb || first == 0xff || width > from.size())
    return std::nullopt;
  if (width != 0) {
    size = 0;
    std::memcpy(&size, from.data(), width);
    from.remove_prefix(width);
  }
  if (size > from.size())
    return std::nullopt;
  const auto out = from.substr(0, size);
  from.remove_prefix(size);
  return out;
}

} // namespace

bool append_json(std::string_view document, std::string& out) {
  const auto view = view_of(document);
  if (!view) {
    out += "null";
    return true;
  }
  return printer{out, out.size() + limit_of(document)}.print(*view, 0);
}

bool append_json_with_diffs(std::string_view document, std::string_view diffs, std::string& out) {
  constexpr std::string_view null_document{"\x04\0", 2};
  tree root;
  auto budget = document.size() + diffs.size() + 16;
  if (!grow(*view_of(document.empty() ? null_document : document), 0, budget, root))
    return false;
  const auto limit = out.size() + limit_of(document) + limit_of(diffs);
  while (!diffs.empty()) {
    const auto what = static_cast<diff_operation>(static_cast<unsigned char>(diffs.front()));
    if (what > diff_operation::remove)
      return false;
    diffs.remove_prefix(1);
    const auto text = take_counted(diffs);
    const auto path = text ? read_path(*text) : std::nullopt;
    if (!path)
      return false;
    tree value;
    if (what != diff_operation::remove) {
      const auto bytes = take_counted(diffs);
      const auto view = bytes ? view_of(*bytes) : std::nullopt;
      if (!view || !grow(*view, 0, budget, value))
        return false;
    }
    if (!apply(root, what, *path, std::move(value)))
      return false;
  }
  printer to{out, limit};
  return print_tree(root, 0, to, out);
}

} // namespace cdc::sources::mysql
