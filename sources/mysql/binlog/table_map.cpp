#include "sources/mysql/binlog/table_map.hpp"

#include <algorithm>
#include <array>

#include "sources/mysql/binlog/reader.hpp"
#include "sources/mysql/values/utf8_converter.hpp"

namespace cdc::sources::mysql {

namespace {

using ft = field_type;

/// rows_event.h, Optional_metadata_field_type
enum class metadata : std::uint8_t {
  signedness = 1,
  default_charset = 2,
  column_charset = 3,
  column_name = 4,
  set_labels = 5,
  enum_labels = 6,
  geometry_type = 7,
  primary_key = 8,
  primary_key_with_prefix = 9,
  label_default_charset = 10,
  label_column_charset = 11,
  visibility = 12,
};

bool is_known(ft field) noexcept {
  switch (field) {
    case ft::old_decimal:
    case ft::tiny:
    case ft::small:
    case ft::integer:
    case ft::float4:
    case ft::float8:
    case ft::null:
    case ft::old_timestamp:
    case ft::big:
    case ft::medium:
    case ft::date:
    case ft::old_time:
    case ft::old_datetime:
    case ft::year:
    case ft::new_date:
    case ft::varchar:
    case ft::bit:
    case ft::timestamp:
    case ft::datetime:
    case ft::time:
    case ft::typed_array:
    case ft::blob_compressed:
    case ft::varchar_compressed:
    case ft::vector:
    case ft::json:
    case ft::decimal:
    case ft::enumeration:
    case ft::set:
    case ft::tiny_blob:
    case ft::medium_blob:
    case ft::long_blob:
    case ft::blob:
    case ft::var_string:
    case ft::string:
    case ft::geometry:
      return true;
  }
  return false;
}

/// What the signs are told of: YEAR too.
bool is_numeric(const column_type& type) noexcept {
  switch (type.field) {
    case ft::year:
    case ft::tiny:
    case ft::small:
    case ft::medium:
    case ft::integer:
    case ft::big:
    case ft::decimal:
    case ft::float4:
    case ft::float8:
      return true;
    default:
      return false;
  }
}

bool is_label(const column_type& type, log_writer /*by*/ = {}) noexcept {
  return type.field == ft::enumeration || type.field == ft::set;
}

bool is_character(const column_type& type, log_writer by) noexcept {
  switch (type.field) {
    case ft::geometry:
      return by == log_writer::mariadb;
    case ft::string:
    case ft::var_string:
    case ft::varchar:
    case ft::varchar_compressed:
    case ft::blob:
    case ft::blob_compressed:
    case ft::tiny_blob:
    case ft::medium_blob:
    case ft::long_blob:
      return true;
    default:
      return false;
  }
}

/// The two bytes of a STRING: its real type, and above 255 bytes two bits of its length in it.
void read_string_metadata(log_reader& in, column_type& out) noexcept {
  const unsigned first = in.integer<std::uint8_t>();
  const unsigned second = in.integer<std::uint8_t>();
  unsigned real = first;
  out.length = second;
  if ((first & 0x30U) != 0x30U) {
    out.length |= ((first & 0x30U) ^ 0x30U) << 4U;
    real = first | 0x30U;
  }
  const auto field = static_cast<ft>(real);
  out.field = field == ft::enumeration || field == ft::set ? field : ft::string;
  out.prefix = out.length < 256 ? 1 : 2;
}

void read_metadata(log_reader& in, column_type& out) noexcept {
  switch (out.field) {
    case ft::float4:
    case ft::float8:
      in.skip(1);
      break;
    case ft::varchar:
    case ft::varchar_compressed:
      out.length = static_cast<std::uint32_t>(in.little(2));
      out.prefix = out.length < 256 ? 1 : 2;
      break;
    case ft::bit: {
      const auto bits = static_cast<std::uint32_t>(in.little(1));
      out.length = static_cast<std::uint32_t>(in.little(1)) * 8 + bits;
      break;
    }
    case ft::decimal:
      out.precision = in.integer<std::uint8_t>();
      out.scale = in.integer<std::uint8_t>();
      break;
    case ft::blob:
    case ft::blob_compressed:
    case ft::tiny_blob:
    case ft::medium_blob:
    case ft::long_blob:
    case ft::json:
    case ft::geometry:
    case ft::vector:
      out.prefix = in.integer<std::uint8_t>();
      break;
    case ft::string:
    case ft::enumeration:
    case ft::set:
    case ft::var_string:
      read_string_metadata(in, out);
      break;
    case ft::timestamp:
    case ft::datetime:
    case ft::time:
      out.fraction = in.integer<std::uint8_t>();
      break;
    default:
      break;
  }
}

/// A layout that no value can have.
bool is_impossible(const column_type& type) noexcept {
  switch (type.field) {
    case ft::decimal:
      return type.precision == 0 || type.precision > 65 || type.scale > 30 ||
             type.scale > type.precision;
    case ft::bit:
      return type.length == 0 || type.length > 64;
    case ft::timestamp:
    case ft::datetime:
    case ft::time:
      return type.fraction > 6;
    case ft::enumeration:
      return type.length == 0 || type.length > 2;
    case ft::set:
      return type.length == 0 || type.length > 8;
    case ft::blob:
    case ft::blob_compressed:
    case ft::json:
    case ft::geometry:
    case ft::vector:
      return type.prefix == 0 || type.prefix > 4;
    default:
      return false;
  }
}

table_head read_head(log_reader& in) noexcept {
  table_head out{.id = in.little(6)};
  in.skip(2); // flags
  out.schema = in.text(in.integer<std::uint8_t>());
  in.skip(1); // NUL
  out.name = in.packed_text();
  in.skip(1);
  return out;
}

constexpr std::array<std::string_view, 8> geometry_names{
    "geometry",   "point",           "linestring",   "polygon",
    "multipoint", "multilinestring", "multipolygon", "geometrycollection"};

/// Reads the optional metadata, each piece in the order it came.
class metadata_reader {
public:
  metadata_reader(const event_view& event, log_writer by, table_map& out) noexcept
      : event_(event), by_(by), out_(out) {}

  result<void> read(metadata what, std::string_view bytes, std::size_t at) {
    log_reader in{std::as_bytes(std::span{bytes})};
    const char* wrong = nullptr;
    switch (what) {
      case metadata::signedness:
        read_signs(in);
        break;
      case metadata::default_charset:
        wrong = read_default_charset(in, is_character);
        break;
      case metadata::label_default_charset:
        wrong = read_default_charset(in, is_label);
        break;
      case metadata::column_charset:
        wrong = read_column_charsets(in, is_character);
        break;
      case metadata::label_column_charset:
        wrong = read_column_charsets(in, is_label);
        break;
      case metadata::column_name:
        for (auto& column : out_.columns)
          column.name = in.packed_text();
        out_.has_names = true;
        break;
      case metadata::set_labels:
        read_labels(in, ft::set);
        break;
      case metadata::enum_labels:
        read_labels(in, ft::enumeration);
        break;
      case metadata::geometry_type:
        for (auto& column : out_.columns) {
          if (column.type.field != ft::geometry)
            continue;
          const auto number = in.packed();
          column.type.name = geometry_names[number < geometry_names.size() ? number : 0];
        }
        break;
      case metadata::primary_key:
      case metadata::primary_key_with_prefix:
        wrong = read_key(in, what == metadata::primary_key_with_prefix);
        break;
      case metadata::visibility:
        for (std::size_t i = 0; i < out_.columns.size(); ++i)
          out_.columns[i].is_invisible = !bit(bytes, i);
        break;
      default:
        break; // a newer server's
    }
    if (in.failed())
      wrong = "metadata cut short";
    if (wrong)
      return tl::unexpected(malformed(event_, wrong, at + in.offset()));
    return {};
  }

  /// Labels come in the column's character set, which may be told behind them.
  result<void> convert_labels() {
    for (auto& column : out_.columns) {
      if (!is_label(column.type) || !column.type.has_labels)
        continue;
      if (!column.type.has_charset) {
        column.type.labels.clear();
        column.type.has_labels = false;
        continue;
      }
      const auto converter = utf8_converter::from(column.type.charset);
      if (!converter)
        return tl::unexpected(converter.error());
      if (converter->copies())
        continue;
      for (auto& label : column.type.labels) {
        std::string text(converter->bound(label.size()), '\0');
        const char* const end = converter->convert(label, text.data());
        text.resize(static_cast<std::size_t>(end - text.data()));
        label = std::move(text);
      }
    }
    return {};
  }

private:
  static bool bit(std::string_view bits, std::size_t at) noexcept {
    return at / 8 < bits.size() &&
           (static_cast<unsigned char>(bits[at / 8]) & 0x80U >> at % 8) != 0;
  }

  void read_signs(log_reader& in) {
    const auto numbers = static_cast<std::size_t>(
        std::ranges::count_if(out_.columns, [](const auto& it) { return is_numeric(it.type); }));
    const auto bits = in.text((numbers + 7) / 8);
    std::size_t at = 0;
    for (auto& column : out_.columns) {
      if (!is_numeric(column.type))
        continue;
      column.type.is_unsigned = bit(bits, at++);
      column.type.has_sign = true;
    }
  }

  static const char* set_charset(column_type& type, std::uint64_t collation) noexcept {
    const auto set = character_set_of(static_cast<std::uint32_t>(collation));
    if (!set)
      return "a collation that we do not know";
    type.charset = *set;
    type.has_charset = true;
    return nullptr;
  }

  template <class Applies>
  const char* read_default_charset(log_reader& in, Applies applies) {
    const auto usual = in.packed();
    std::vector<column_type*> columns;
    for (auto& column : out_.columns) {
      if (!applies(column.type, by_))
        continue;
      columns.push_back(&column.type);
      if (const auto* const wrong = set_charset(column.type, usual))
        return wrong;
    }
    while (in.remaining() != 0 && !in.failed()) {
      const auto at = in.packed();
      const auto collation = in.packed();
      if (in.failed())
        break;
      if (at >= columns.size())
        return "metadata of a column that is not there";
      if (const auto* const wrong = set_charset(*columns[at], collation))
        return wrong;
    }
    return nullptr;
  }

  template <class Applies>
  const char* read_column_charsets(log_reader& in, Applies applies) {
    for (auto& column : out_.columns) {
      if (!applies(column.type, by_))
        continue;
      const auto collation = in.packed();
      if (in.failed())
        break;
      if (const auto* const wrong = set_charset(column.type, collation))
        return wrong;
    }
    return nullptr;
  }

  void read_labels(log_reader& in, ft field) {
    for (auto& column : out_.columns) {
      if (column.type.field != field)
        continue;
      const auto count = in.packed();
      column.type.labels.clear();
      for (std::uint64_t i = 0; i < count && !in.failed(); ++i)
        column.type.labels.emplace_back(in.packed_text());
      column.type.has_labels = true;
    }
  }

  const char* read_key(log_reader& in, bool has_prefixes) {
    while (in.remaining() != 0 && !in.failed()) {
      const auto at = in.packed();
      if (has_prefixes) [[maybe_unused]]
        const auto prefix = in.packed();
      if (at >= out_.columns.size())
        return "metadata of a column that is not there";
      out_.primary_key.push_back(static_cast<std::uint16_t>(at));
    }
    return nullptr;
  }

  const event_view& event_;
  log_writer by_;
  table_map& out_;
};

} // namespace

result<table_head> decode_table_head(const event_view& in) {
  log_reader from{in.body};
  const auto out = read_head(from);
  if (from.failed())
    return tl::unexpected(malformed(in, "cut short", from.offset()));
  return out;
}

result<table_map> decode_table_map(const event_view& in, log_writer by) {
  log_reader from{in.body};
  const auto refuse = [&](std::string_view what) {
    return tl::unexpected(malformed(in, what, from.offset()));
  };
  const auto head = read_head(from);
  table_map out{.id = head.id, .schema = std::string(head.schema), .name = std::string(head.name)};
  const auto count = from.packed();
  const auto types = from.text(static_cast<std::size_t>(count));
  if (from.failed())
    return refuse("cut short");
  if (count > 0xffff)
    return refuse("more columns than a table can have");
  out.columns.resize(types.size());
  log_reader layout{std::as_bytes(std::span{from.packed_text()})};
  const auto layout_end = from.offset();
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto& type = out.columns[i].type;
    type.field = static_cast<ft>(static_cast<unsigned char>(types[i]));
    if (!is_known(type.field))
      return refuse(fmt::format("column {} of {}.{} has the unknown type {}", i + 1, out.schema,
                                out.name, static_cast<unsigned>(type.field)));
    read_metadata(layout, type);
    if (!layout.failed() && is_impossible(type))
      return refuse(fmt::format("column {} of {}.{} has a size that its type cannot have", i + 1,
                                out.schema, out.name));
  }
  if (!layout.complete() && !from.failed())
    return tl::unexpected(
        malformed(in, "column metadata of the wrong size", layout_end - layout.remaining()));
  const auto nulls = from.text((types.size() + 7) / 8);
  if (from.failed())
    return refuse("cut short");
  for (std::size_t i = 0; i < types.size(); ++i)
    out.columns[i].is_nullable = (static_cast<unsigned char>(nulls[i / 8]) >> i % 8 & 1U) != 0;
  metadata_reader optional{in, by, out};
  while (from.remaining() != 0) {
    const auto what = static_cast<metadata>(from.integer<std::uint8_t>());
    const auto bytes = from.packed_text();
    if (from.failed())
      return refuse("cut short");
    if (auto read = optional.read(what, bytes, from.offset() - bytes.size()); !read)
      return tl::unexpected(read.error());
  }
  if (auto converted = optional.convert_labels(); !converted)
    return tl::unexpected(converted.error());
  return out;
}

} // namespace cdc::sources::mysql
