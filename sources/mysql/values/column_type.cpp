#include "sources/mysql/values/column_type.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cdc::sources::mysql {

namespace {

using ft = field_type;

/// COLUMN_TYPE taken apart: `decimal(10,2) unsigned` is 10, 2 and is_unsigned.
struct declaration {
  std::array<std::uint32_t, 2> numbers{};
  std::size_t count = 0;
  bool is_unsigned = false;
  std::vector<std::string> labels{};
};

/// Reads `'a','b''c'` up to its bracket. False when it is none.
bool read_labels(std::string_view& text, std::vector<std::string>& out) {
  while (text.starts_with('\'')) {
    text.remove_prefix(1);
    std::string label;
    for (;;) {
      const auto end = text.find('\'');
      if (end == std::string_view::npos)
        return false;
      label += text.substr(0, end);
      text.remove_prefix(end + 1);
      if (!text.starts_with('\''))
        break;
      label += '\'';
      text.remove_prefix(1);
    }
    out.push_back(std::move(label));
    if (text.starts_with(','))
      text.remove_prefix(1);
  }
  return text.starts_with(')');
}

std::optional<declaration> read_declaration(std::string_view text) {
  declaration out;
  const auto bracket = text.find('(');
  const auto blank = text.find(' ');
  if (bracket != std::string_view::npos && bracket < blank) {
    text.remove_prefix(bracket + 1);
    if (text.starts_with('\'')) {
      if (!read_labels(text, out.labels))
        return std::nullopt;
    } else {
      while (out.count < out.numbers.size()) {
        const auto [end, wrong] =
            std::from_chars(text.data(), text.data() + text.size(), out.numbers[out.count]);
        if (wrong != std::errc{})
          return std::nullopt;
        ++out.count;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (!text.starts_with(','))
          break;
        text.remove_prefix(1);
      }
    }
    if (!text.starts_with(')'))
      return std::nullopt;
  }
  out.is_unsigned = text.find(" unsigned") != std::string_view::npos;
  return out;
}

struct named_type {
  std::string_view name;
  field_type field;
};

constexpr named_type named_types[]{
    {"tinyint", ft::tiny},
    {"smallint", ft::small},
    {"mediumint", ft::medium},
    {"int", ft::integer},
    {"bigint", ft::big},
    {"decimal", ft::decimal},
    {"float", ft::float4},
    {"double", ft::float8},
    {"bit", ft::bit},
    {"year", ft::year},
    {"date", ft::date},
    {"time", ft::time},
    {"datetime", ft::datetime},
    {"timestamp", ft::timestamp},
    {"char", ft::string},
    {"varchar", ft::varchar},
    {"binary", ft::string},
    {"varbinary", ft::varchar},
    {"tinytext", ft::blob},
    {"text", ft::blob},
    {"mediumtext", ft::blob},
    {"longtext", ft::blob},
    {"tinyblob", ft::blob},
    {"blob", ft::blob},
    {"mediumblob", ft::blob},
    {"longblob", ft::blob},
    {"enum", ft::enumeration},
    {"set", ft::set},
    {"json", ft::json},
    {"geometry", ft::geometry},
    {"point", ft::geometry},
    {"linestring", ft::geometry},
    {"polygon", ft::geometry},
    {"multipoint", ft::geometry},
    {"multilinestring", ft::geometry},
    {"multipolygon", ft::geometry},
    {"geometrycollection", ft::geometry},
    {"geomcollection", ft::geometry},
    {"vector", ft::vector},
    {"uuid", ft::string},
    {"inet4", ft::string},
    {"inet6", ft::string},
};

std::uint8_t blob_prefix(std::string_view name) noexcept {
  if (name.starts_with("tiny"))
    return 1;
  if (name.starts_with("medium"))
    return 3;
  return name.starts_with("long") ? 4 : 2;
}

std::uint32_t plugin_length(disguise what) noexcept {
  return what == disguise::inet4 ? 4 : 16;
}

void take_lengths(column_type& out, const declaration& said, const catalogue_type& row) {
  const auto first = said.count > 0 ? said.numbers[0] : 0;
  switch (out.field) {
    case ft::decimal:
      out.precision = static_cast<std::uint8_t>(said.count > 0 ? first : 10);
      out.scale = static_cast<std::uint8_t>(said.numbers[1]);
      break;
    case ft::time:
    case ft::datetime:
    case ft::timestamp:
      out.fraction = static_cast<std::uint8_t>(first);
      break;
    case ft::bit:
      out.length = said.count > 0 ? first : 1;
      break;
    case ft::enumeration:
      out.length = out.labels.size() < 256 ? 1 : 2;
      break;
    case ft::set:
      out.length = static_cast<std::uint32_t>((out.labels.size() + 7) / 8);
      out.length = out.length > 4 ? 8 : out.length; // 1, 2, 3, 4 or 8 (Field_set)
      break;
    case ft::string:
    case ft::varchar:
    case ft::varchar_compressed:
      out.length = out.shown_as == disguise::none ? static_cast<std::uint32_t>(row.octet_length)
                                                  : plugin_length(out.shown_as);
      out.prefix = out.length < 256 ? 1 : 2;
      break;
    case ft::blob:
    case ft::blob_compressed:
      out.prefix = blob_prefix(row.data_type);
      break;
    case ft::json:
    case ft::geometry:
    case ft::vector:
      out.prefix = 4;
      break;
    default:
      break;
  }
}

disguise disguise_of(const catalogue_type& row) noexcept {
  if (row.data_type == "uuid")
    return disguise::uuid;
  if (row.data_type == "inet4")
    return disguise::inet4;
  if (row.data_type == "inet6")
    return disguise::inet6;
  return row.is_json_checked && row.data_type == "longtext" ? disguise::json : disguise::none;
}

/// Types that differ only in how the log stores them count as one.
field_type family(const column_type& type) noexcept {
  switch (type.field) {
    case ft::old_timestamp:
      return ft::timestamp;
    case ft::old_time:
      return ft::time;
    case ft::old_datetime:
      return ft::datetime;
    case ft::new_date:
      return ft::date;
    case ft::varchar_compressed:
    case ft::var_string:
      return ft::varchar;
    case ft::tiny_blob:
    case ft::medium_blob:
    case ft::long_blob:
    case ft::blob_compressed:
      return ft::blob;
    default:
      return type.field;
  }
}

bool is_old(field_type field) noexcept {
  return field == ft::old_timestamp || field == ft::old_time || field == ft::old_datetime;
}

bool has_sign_bit(field_type field) noexcept {
  switch (field) {
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

bool has_characters(field_type field) noexcept {
  switch (field) {
    case ft::string:
    case ft::var_string:
    case ft::varchar:
    case ft::varchar_compressed:
    case ft::blob:
    case ft::tiny_blob:
    case ft::medium_blob:
    case ft::long_blob:
    case ft::blob_compressed:
    case ft::enumeration:
    case ft::set:
      return true;
    default:
      return false;
  }
}

/// MariaDB logs a VECTOR as VARBINARY.
bool is_logged_vector(const column_type& logged, const column_type& known) noexcept {
  return known.field == ft::vector && family(logged) == ft::varchar;
}

bool can_be_one(const column_type& logged, const column_type& known) noexcept {
  if (is_logged_vector(logged, known))
    return true;
  if (family(logged) != family(known))
    return false;
  switch (family(known)) {
    case ft::decimal:
      return logged.precision == known.precision && logged.scale == known.scale;
    case ft::timestamp:
    case ft::datetime:
    case ft::time:
      return is_old(logged.field) || logged.fraction == known.fraction;
    case ft::bit:
    case ft::enumeration:
    case ft::set:
      return logged.length == known.length;
    case ft::varchar:
      return logged.field == ft::varchar_compressed || logged.length == known.length;
    case ft::string:
      return logged.length == known.length;
    case ft::blob:
      return logged.prefix == known.prefix;
    default:
      return true;
  }
}

} // namespace

result<column_type> type_from_catalogue(const catalogue_type& row) {
  const auto* const at = std::ranges::find(named_types, row.data_type, &named_type::name);
  const auto said = read_declaration(row.column_type);
  if (at == std::end(named_types) || !said)
    return fail(errc::source_misconfigured, "no type that we know: {}", row.column_type);
  column_type out{.field = at->field,
                  .is_unsigned = said->is_unsigned,
                  .shown_as = disguise_of(row),
                  .labels = said->labels,
                  .name = std::string(row.data_type),
                  .has_sign = true,
                  .has_charset = true,
                  .has_labels = true};
  if (!row.character_set_name.empty()) {
    const auto charset = find_character_set(row.character_set_name);
    if (!charset)
      return fail(errc::source_misconfigured, "no character set that we know: {}",
                  row.character_set_name);
    out.charset = *charset;
  }
  if (row.column_type.find("/*M!100301 COMPRESSED*/") != std::string_view::npos)
    out.field = out.field == ft::blob ? ft::blob_compressed : ft::varchar_compressed;
  take_lengths(out, *said, row);
  return out;
}

bool complete(column_type& logged, const column_type& known) {
  if (!can_be_one(logged, known) ||
      (logged.has_sign && has_sign_bit(logged.field) && logged.is_unsigned != known.is_unsigned) ||
      (logged.has_charset && has_characters(logged.field) && logged.charset != known.charset) ||
      (logged.has_labels && logged.labels != known.labels))
    return false;
  logged.is_unsigned = known.is_unsigned;
  logged.charset = known.charset;
  logged.labels = known.labels;
  logged.has_sign = logged.has_charset = logged.has_labels = true;
  logged.shown_as = is_logged_vector(logged, known) ? disguise::vector : known.shown_as;
  logged.name = known.name;
  if (is_old(logged.field))
    logged.fraction = known.fraction; // which the log does not say
  return true;
}

bool is_complete(const column_type& type) noexcept {
  if (has_sign_bit(type.field) && !type.has_sign)
    return false;
  if (type.field == ft::enumeration || type.field == ft::set)
    return type.has_labels; // which are UTF-8 already
  return !has_characters(type.field) || type.has_charset;
}

kind kind_of(const column_type& type) noexcept {
  switch (type.shown_as) {
    case disguise::uuid:
    case disguise::inet4:
    case disguise::inet6:
      return kind::other;
    case disguise::vector:
      return kind::array;
    case disguise::json:
      return kind::json;
    case disguise::none:
      break;
  }
  switch (type.field) {
    case ft::tiny:
    case ft::small:
    case ft::medium:
    case ft::integer:
    case ft::big:
    case ft::year:
    case ft::bit:
      return kind::integer;
    case ft::float4:
    case ft::float8:
      return kind::floating;
    case ft::old_decimal:
    case ft::decimal:
      return kind::decimal;
    case ft::date:
    case ft::new_date:
      return kind::date;
    case ft::time:
    case ft::old_time:
      return kind::time;
    case ft::datetime:
    case ft::old_datetime:
      return kind::timestamp;
    case ft::timestamp:
    case ft::old_timestamp:
      return kind::timestamptz;
    case ft::json:
      return kind::json;
    case ft::geometry:
      return kind::geometry;
    case ft::vector:
      return kind::array;
    case ft::enumeration:
      return kind::enumeration;
    case ft::set:
      return kind::set;
    case ft::string:
    case ft::var_string:
    case ft::varchar:
    case ft::varchar_compressed:
    case ft::blob:
    case ft::tiny_blob:
    case ft::medium_blob:
    case ft::long_blob:
    case ft::blob_compressed:
      return type.charset == character_set::binary ? kind::bytes : kind::text;
    case ft::null:
    case ft::typed_array:
      return kind::other;
  }
  return kind::other;
}

std::string_view type_name(const column_type& type) noexcept {
  if (!type.name.empty())
    return type.name;
  const auto is_binary = type.charset == character_set::binary;
  switch (family(type)) {
    case ft::string:
      return is_binary ? "binary" : "char";
    case ft::varchar:
      return is_binary ? "varbinary" : "varchar";
    case ft::blob: {
      constexpr std::array<std::string_view, 4> blobs{"tinyblob", "blob", "mediumblob", "longblob"};
      constexpr std::array<std::string_view, 4> texts{"tinytext", "text", "mediumtext", "longtext"};
      const auto at = std::clamp<std::size_t>(type.prefix, 1, 4) - 1;
      return is_binary ? blobs[at] : texts[at];
    }
    default:
      break;
  }
  const auto* const at = std::ranges::find(named_types, family(type), &named_type::field);
  return at == std::end(named_types) ? "unknown" : at->name;
}

column make_column(std::string name, const column_type& type) {
  const auto what = kind_of(type);
  return {.name = std::move(name),
          .what = what,
          .element = what == kind::array ? kind::floating : kind::other,
          .is_unsigned = type.is_unsigned || type.field == ft::bit,
          .type_name = std::string(type_name(type))};
}

} // namespace cdc::sources::mysql
