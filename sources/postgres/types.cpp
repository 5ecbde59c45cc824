#include "sources/postgres/types.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "sources/postgres/connection.hpp"

namespace cdc::sources::postgres {

namespace {

struct built_in_type {
  std::uint32_t oid;
  std::uint32_t array_oid;
  kind what;
  char delimiter;
  std::string_view name;
};

// src/include/catalog/pg_type.dat. Those that are not here are asked for like any other.
constexpr std::array built_in_types{
    built_in_type{16, 1000, kind::boolean, ',', "bool"},
    built_in_type{17, 1001, kind::bytes, ',', "bytea"},
    built_in_type{18, 1002, kind::text, ',', "char"},
    built_in_type{19, 1003, kind::text, ',', "name"},
    built_in_type{20, 1016, kind::integer, ',', "int8"},
    built_in_type{21, 1005, kind::integer, ',', "int2"},
    built_in_type{22, 1006, kind::other, ',', "int2vector"},
    built_in_type{23, 1007, kind::integer, ',', "int4"},
    built_in_type{25, 1009, kind::text, ',', "text"},
    built_in_type{26, 1028, kind::integer, ',', "oid"},
    built_in_type{27, 1010, kind::other, ',', "tid"},
    built_in_type{28, 1011, kind::integer, ',', "xid"},
    built_in_type{29, 1012, kind::integer, ',', "cid"},
    built_in_type{30, 1013, kind::other, ',', "oidvector"},
    built_in_type{114, 199, kind::json, ',', "json"},
    built_in_type{142, 143, kind::text, ',', "xml"},
    built_in_type{600, 1017, kind::other, ',', "point"},
    built_in_type{601, 1018, kind::other, ',', "lseg"},
    built_in_type{602, 1019, kind::other, ',', "path"},
    built_in_type{603, 1020, kind::other, ';', "box"},
    built_in_type{604, 1027, kind::other, ',', "polygon"},
    built_in_type{628, 629, kind::other, ',', "line"},
    built_in_type{650, 651, kind::other, ',', "cidr"},
    built_in_type{700, 1021, kind::floating, ',', "float4"},
    built_in_type{701, 1022, kind::floating, ',', "float8"},
    built_in_type{718, 719, kind::other, ',', "circle"},
    built_in_type{774, 775, kind::other, ',', "macaddr8"},
    built_in_type{790, 791, kind::other, ',', "money"},
    built_in_type{829, 1040, kind::other, ',', "macaddr"},
    built_in_type{869, 1041, kind::other, ',', "inet"},
    built_in_type{1042, 1014, kind::text, ',', "bpchar"},
    built_in_type{1043, 1015, kind::text, ',', "varchar"},
    built_in_type{1082, 1182, kind::date, ',', "date"},
    built_in_type{1083, 1183, kind::time, ',', "time"},
    built_in_type{1114, 1115, kind::timestamp, ',', "timestamp"},
    built_in_type{1184, 1185, kind::timestamptz, ',', "timestamptz"},
    built_in_type{1186, 1187, kind::other, ',', "interval"},
    built_in_type{1266, 1270, kind::time, ',', "timetz"},
    built_in_type{1560, 1561, kind::bit, ',', "bit"},
    built_in_type{1562, 1563, kind::bit, ',', "varbit"},
    built_in_type{1700, 1231, kind::decimal, ',', "numeric"},
    built_in_type{2950, 2951, kind::other, ',', "uuid"},
    built_in_type{3220, 3221, kind::other, ',', "pg_lsn"},
    built_in_type{3614, 3643, kind::other, ',', "tsvector"},
    built_in_type{3615, 3645, kind::other, ',', "tsquery"},
    built_in_type{3802, 3807, kind::json, ',', "jsonb"},
    built_in_type{3904, 3905, kind::other, ',', "int4range"},
    built_in_type{3906, 3907, kind::other, ',', "numrange"},
    built_in_type{3908, 3909, kind::other, ',', "tsrange"},
    built_in_type{3910, 3911, kind::other, ',', "tstzrange"},
    built_in_type{3912, 3913, kind::other, ',', "daterange"},
    built_in_type{3926, 3927, kind::other, ',', "int8range"},
    built_in_type{4072, 4073, kind::other, ',', "jsonpath"},
    built_in_type{5069, 271, kind::other, ',', "xid8"},
};

type_facts array_of(const type_facts& element, char delimiter) {
  // An array of a domain over an array nests in its text as one quoted value.
  return {.what = kind::array,
          .element = element.what == kind::array ? kind::other : element.what,
          .delimiter = delimiter,
          .name = element.name + "[]"};
}

/// A row of pg_type.
struct catalogue_row {
  std::string name;
  char type = 'b';           ///< typtype: b, c, d, e, m, p, r.
  char category = 'U';       ///< typcategory.
  std::uint32_t base = 0;    ///< Of a domain.
  std::uint32_t element = 0; ///< Of a true array; those print by array_out.
  char delimiter = ',';
};

using catalogue_rows = std::unordered_map<std::uint32_t, catalogue_row>;

constexpr auto read_types = R"(
  SELECT oid, typname, typtype, typcategory, typbasetype,
         CASE WHEN typoutput = 'pg_catalog.array_out'::pg_catalog.regproc THEN typelem ELSE 0 END,
         typdelim
  FROM pg_catalog.pg_type WHERE oid = ANY ($1::pg_catalog.oid[]))";

std::string array_text(std::span<const std::uint32_t> oids) {
  std::string out = "{";
  for (const auto oid : oids)
    out += (out.size() > 1 ? "," : "") + std::to_string(oid);
  return out + "}";
}

char letter(std::string_view text) noexcept {
  return text.empty() ? '\0' : text.front();
}

result<void> read(connection& from, std::span<const std::uint32_t> oids, catalogue_rows& into) {
  const std::array parameters{array_text(oids)};
  const auto found = from.query(read_types, parameters, "read the types of columns");
  if (!found)
    return tl::unexpected(found.error());
  for (int row = 0; row < found->size(); ++row) {
    into.emplace(found->number<std::uint32_t>(row, 0),
                 catalogue_row{.name = std::string{found->text(row, 1)},
                               .type = letter(found->text(row, 2)),
                               .category = letter(found->text(row, 3)),
                               .base = found->number<std::uint32_t>(row, 4),
                               .element = found->number<std::uint32_t>(row, 5),
                               .delimiter = letter(found->text(row, 6))});
  }
  return {};
}

kind kind_of(const catalogue_row& row) noexcept {
  if (row.type == 'e')
    return kind::enumeration;
  // citext and its like call themselves strings.
  return row.type == 'b' && row.category == 'S' ? kind::text : kind::other;
}

type_facts resolve(std::uint32_t oid, const catalogue_rows& rows) {
  if (auto known = type_catalogue::built_in(oid))
    return *known;
  const auto found = rows.find(oid);
  if (found == rows.end())
    return {.name = "unknown"};
  const auto& row = found->second;
  if (row.base != 0)
    return resolve(row.base, rows);
  if (row.element != 0)
    return array_of(resolve(row.element, rows), row.delimiter);
  return {.what = kind_of(row), .name = row.name};
}

} // namespace

std::optional<type_facts> type_catalogue::built_in(std::uint32_t oid) {
  if (oid == 0)
    return std::nullopt;
  for (const auto& known : built_in_types) {
    if (known.oid != oid && known.array_oid != oid)
      continue;
    const type_facts itself{.what = known.what, .name = std::string{known.name}};
    return known.oid == oid ? itself : array_of(itself, known.delimiter);
  }
  return std::nullopt;
}

std::optional<type_facts> type_catalogue::find(std::uint32_t oid) const {
  if (auto known = built_in(oid))
    return known;
  const auto found = learned_.find(oid);
  return found == learned_.end() ? std::nullopt : std::optional{found->second};
}

result<void> type_catalogue::learn(connection& from, std::span<const std::uint32_t> oids) {
  catalogue_rows rows;
  std::vector<std::uint32_t> asked;
  for (const auto oid : oids) {
    if (!find(oid))
      asked.push_back(oid);
  }
  // One question a level: what the last answer stands on is asked for next.
  for (auto level = asked; !level.empty();) {
    if (auto done = read(from, level, rows); !done)
      return done;
    std::vector<std::uint32_t> next;
    for (const auto oid : level) {
      const auto found = rows.find(oid);
      const auto below = found == rows.end()       ? 0
                         : found->second.base != 0 ? found->second.base
                                                   : found->second.element;
      if (below != 0 && !built_in(below) && !rows.contains(below))
        next.push_back(below);
    }
    level = std::move(next);
  }
  for (const auto oid : asked)
    learned_.insert_or_assign(oid, resolve(oid, rows));
  return {};
}

} // namespace cdc::sources::postgres
