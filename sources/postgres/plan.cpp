#include "sources/postgres/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/connection.hpp"

namespace cdc::sources::postgres {

namespace {

constexpr std::uint32_t uuid_oid = 2950;

// A page holds at most 291 rows (MaxHeapTuplesPerPage).
constexpr std::uint64_t rows_a_page_max = 291;
// What to expect of a table that was never analysed, until a sample has told better.
constexpr double rows_a_page_guess = 60;
// Rows of a page lie close together in the key, so it is pages that make a bound exact.
constexpr double pages_sampled_a_range = 20;
constexpr double pages_sampled_max = 50'000;
constexpr double pages_sampled_a_range_min = 2;

// Partitions are stored in their leaves.
constexpr auto read_size = R"(
  WITH leaf AS (
    SELECT l.oid, l.reltuples, l.relpages,
           pg_catalog.pg_relation_size(l.oid)
             / pg_catalog.current_setting('block_size')::bigint AS pages
    FROM pg_catalog.pg_class c, pg_catalog.pg_class l
    WHERE c.oid = $1::pg_catalog.oid
      AND CASE WHEN c.relkind = 'p'
               THEN l.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(c.oid) WHERE isleaf)
               ELSE l.oid = c.oid END)
  SELECT (SELECT relkind = 'p' FROM pg_catalog.pg_class WHERE oid = $1::pg_catalog.oid),
         pg_catalog.sum(pages)::bigint,
         CASE WHEN pg_catalog.bool_or(reltuples < 0 AND pages > 0) THEN -1
              ELSE pg_catalog.ceil(pg_catalog.sum(
                     CASE WHEN relpages > 0 THEN reltuples / relpages * pages
                          ELSE pages * $2::float8 END))::bigint END
  FROM leaf)";

constexpr auto read_key = R"(
  WITH wanted AS (
    SELECT attnum, place
    FROM pg_catalog.unnest($2::int2[]) WITH ORDINALITY AS w (attnum, place)),
  ordered AS (
    SELECT i.indclass::pg_catalog.oid[] AS classes
    FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    JOIN pg_catalog.pg_am m ON m.oid = x.relam
    WHERE i.indrelid = $1::pg_catalog.oid AND m.amname = 'btree' AND i.indisvalid
      AND i.indpred IS NULL
      AND (i.indkey::int2[])[0:pg_catalog.cardinality($2::int2[]) - 1] = $2::int2[]
    ORDER BY i.indisprimary DESC LIMIT 1)
  SELECT pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,
         (SELECT n.nspname
          FROM ordered, pg_catalog.pg_opclass o
          JOIN pg_catalog.pg_namespace n ON n.oid = o.opcnamespace
          WHERE o.oid = ordered.classes[w.place - 1] AND o.opcdefault)
  FROM wanted w
  JOIN pg_catalog.pg_attribute a ON a.attrelid = $1::pg_catalog.oid AND a.attnum = w.attnum
  ORDER BY w.place)";

const column& key_part(const relation& shape, std::size_t place) {
  return shape.columns[shape.key[place]];
}

std::string attributes_of_key(const relation& shape) {
  std::string out = "{";
  for (std::size_t i = 0; i < shape.key.size(); ++i)
    out += (i == 0 ? "" : ",") + std::to_string(key_part(shape, i).attribute);
  return out + "}";
}

std::string joined(std::size_t count, auto&& part) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += i == 0 ? "" : ", ";
    out += part(i);
  }
  return out;
}

/// `"a"`, or `ROW("a", "b")`.
std::string row_of(std::size_t count, auto&& part) {
  auto list = joined(count, part);
  return count == 1 ? list : "ROW(" + list + ")";
}

std::string comparison(const relation& shape, const stored_table& stored, std::string_view symbol,
                       const std::vector<std::string>& bound) {
  const auto size = shape.key.size();
  const auto columns =
      row_of(size, [&](std::size_t i) { return quote_identifier(key_part(shape, i).name); });
  const auto values = row_of(
      size, [&](std::size_t i) { return quote_literal(bound[i]) + "::" + stored.key[i].type; });
  return fmt::format("{} OPERATOR({}.{}) {}", columns, quote_identifier(stored.key[0].operators),
                     symbol, values);
}

std::string page_condition(std::string_view symbol, const std::vector<std::string>& bound) {
  return fmt::format("ctid {} '({},0)'::pg_catalog.tid", symbol, bound.front());
}

/// How much of the table is sampled: 0 to 1.
double sampled_share(const stored_table& stored, double rows, std::uint32_t chunk_rows) {
  const auto pages = static_cast<double>(stored.pages);
  const auto ranges = std::max(1.0, rows / chunk_rows);
  const auto wanted = std::max(std::min(pages_sampled_a_range * ranges, pages_sampled_max),
                               pages_sampled_a_range_min * ranges);
  return std::min(1.0, wanted / pages);
}

// concat() gives the text of the type's own output function, which a cast to text does not always.
result<rows> sample_key(connection& on, const relation& shape, const stored_table& stored,
                        double share, std::uint64_t step) {
  const auto size = shape.key.size();
  const auto names =
      joined(size, [&](std::size_t i) { return quote_identifier(key_part(shape, i).name); });
  const auto texts = joined(size, [&](std::size_t i) {
    return "pg_catalog.concat(" + quote_identifier(key_part(shape, i).name) + ")";
  });
  const auto sql =
      fmt::format("SELECT sampled, {0} FROM (SELECT {1}, pg_catalog.count(*) OVER () AS sampled,"
                  " pg_catalog.row_number() OVER (ORDER BY {1}) - 1 AS number"
                  "{2} TABLESAMPLE SYSTEM ({3:.6f})) AS s"
                  " WHERE number % {4} = 0 ORDER BY number",
                  texts, names, from_clause(shape, stored), share * 100, step);
  return on.query(sql, {}, "sample the key of " + to_string(shape.table));
}

result<load_plan> divide_by_key(connection& on, const relation& shape, const stored_table& stored,
                                double rows_guess, std::uint32_t chunk_rows) {
  const auto share = sampled_share(stored, rows_guess, chunk_rows);
  const auto step = static_cast<std::uint64_t>(std::max(1.0, std::floor(chunk_rows * share)));
  const auto found = sample_key(on, shape, stored, share, step);
  if (!found)
    return tl::unexpected(found.error());
  load_plan out;
  out.scheme = scheme_of(shape);
  if (!found->empty())
    out.rows_estimate =
        static_cast<std::uint64_t>(static_cast<double>(found->number<std::uint64_t>(0, 0)) / share);
  std::vector<std::vector<std::string>> bounds;
  // The first is the least key of the sample: what lies below it belongs to the first range too.
  for (int row = 1; row < found->size(); ++row) {
    auto& bound = bounds.emplace_back();
    for (int column = 1; column < found->columns(); ++column)
      bound.emplace_back(found->text(row, column));
  }
  out.ranges = key_ranges(bounds);
  return out;
}

load_plan whole_table(range_scheme scheme, double rows) {
  return {.scheme = scheme,
          .ranges = {load_range{}},
          .rows_estimate = static_cast<std::uint64_t>(std::max(0.0, rows))};
}

} // namespace

bool stored_table::has_key_order() const noexcept {
  return !key.empty() && std::ranges::all_of(key, [&](const key_column& each) {
    return each.is_not_null && each.is_indexed && each.operators == key.front().operators;
  });
}

result<stored_table> read_stored_table(connection& on, const relation& shape) {
  const auto oid = std::to_string(shape.oid);
  const auto doing = "read the size of " + to_string(shape.table);
  const auto size = on.query(read_size, std::array{oid, std::to_string(rows_a_page_guess)}, doing);
  if (!size)
    return tl::unexpected(size.error());
  stored_table out;
  out.is_partitioned = size->flag(0, 0);
  out.pages = size->number<std::uint64_t>(0, 1);
  out.rows_estimate =
      size->is_null(0, 2) ? 0 : static_cast<double>(size->number<std::int64_t>(0, 2));
  if (shape.key.empty())
    return out;
  const auto key = on.query(read_key, std::array{oid, attributes_of_key(shape)}, doing);
  if (!key)
    return tl::unexpected(key.error());
  for (int row = 0; row < key->size(); ++row) {
    const auto indexed = !key->is_null(row, 2);
    out.key.push_back({.type = std::string{key->text(row, 0)},
                       .operators = indexed ? std::string{key->text(row, 2)} : "pg_catalog",
                       .is_not_null = key->flag(row, 1),
                       .is_indexed = indexed});
  }
  if (out.key.size() != shape.key.size())
    return fail(errc::source_misconfigured, "{}: the key of {} has changed; start again",
                on.describe(), to_string(shape.table));
  return out;
}

result<load_plan> make_plan(connection& on, const relation& shape, const stored_table& stored,
                            std::uint32_t chunk_rows) {
  const auto is_known = stored.rows_estimate >= 0;
  const auto rows =
      is_known ? stored.rows_estimate : static_cast<double>(stored.pages) * rows_a_page_guess;
  if (shape.key.empty())
    return whole_table(range_scheme::keyless, rows);
  const auto ordered = stored.has_key_order();
  const auto is_small =
      is_known ? rows <= chunk_rows : stored.pages * rows_a_page_max <= chunk_rows;
  // Pages of several leaves have the same numbers.
  if (is_small || (!ordered && stored.is_partitioned))
    return whole_table(ordered ? scheme_of(shape) : range_scheme::opaque, rows);
  if (ordered)
    return divide_by_key(on, shape, stored, rows, chunk_rows);
  const auto rows_a_page =
      std::max(1.0, rows / static_cast<double>(std::max<std::uint64_t>(1, stored.pages)));
  const auto pages_each = static_cast<std::uint64_t>(std::max(1.0, chunk_rows / rows_a_page));
  return load_plan{.scheme = range_scheme::opaque,
                   .by_page = true,
                   .ranges = page_ranges(stored.pages, pages_each),
                   .rows_estimate = static_cast<std::uint64_t>(rows)};
}

range_scheme scheme_of(const relation& shape) noexcept {
  const auto ordered_by_engine = std::ranges::all_of(shape.key, [&](std::uint16_t at) {
    const auto& part = shape.columns[at];
    return part.what == kind::integer || part.type_name == "uuid";
  });
  if (shape.key.empty())
    return range_scheme::keyless;
  return ordered_by_engine ? range_scheme::key : range_scheme::opaque;
}

std::string from_clause(const relation& shape, const stored_table& stored) {
  return (stored.is_partitioned ? " FROM " : " FROM ONLY ") + quote_table(shape.table);
}

std::string where_clause(const relation& shape, const stored_table& stored, bool by_page,
                         const load_range& range) {
  std::string out;
  const auto add = [&](std::string_view symbol, const std::vector<std::string>& bound) {
    if (bound.empty())
      return;
    out += out.empty() ? " WHERE " : " AND ";
    out += by_page ? page_condition(symbol, bound) : comparison(shape, stored, symbol, bound);
  };
  add(">=", range.from);
  add("<", range.to);
  return out;
}

std::string where_key(const relation& shape, const stored_table& stored) {
  std::string out;
  for (std::size_t i = 0; i < shape.key.size(); ++i)
    out += fmt::format("{}{} OPERATOR({}.=) ${}::{}", i == 0 ? " WHERE " : " AND ",
                       quote_identifier(key_part(shape, i).name),
                       quote_identifier(stored.key[i].operators), i + 1, stored.key[i].type);
  return out;
}

std::vector<load_range> page_ranges(std::uint64_t pages, std::uint64_t pages_each) {
  std::vector<load_range> out(1);
  for (auto page = pages_each; page < pages; page += pages_each) {
    const std::vector<std::string> bound{std::to_string(page)};
    out.back().to = bound;
    out.push_back({.from = bound, .to = {}});
  }
  return out;
}

std::vector<load_range> key_ranges(const std::vector<std::vector<std::string>>& bounds) {
  std::vector<load_range> out(1);
  for (const auto& bound : bounds) {
    if (bound == out.back().from)
      continue;
    out.back().to = bound;
    out.push_back({.from = bound, .to = {}});
  }
  return out;
}

} // namespace cdc::sources::postgres
