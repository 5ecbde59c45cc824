#include "sources/postgres/catalogue.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sources/postgres/connection.hpp"

namespace cdc::sources::postgres {

namespace {

// One row a column; a table without any has one row of NULLs. An index's columns stand in indkey
// from 0, those behind indnkeyatts are only carried along. A deferrable key cannot identify rows.
constexpr auto read_relation = R"(
  SELECT c.oid, n.nspname, c.relname, c.relreplident,
         a.attname, a.attnum, a.atttypid, a.atttypmod, a.attgenerated <> '', a.attidentity <> '',
         CASE WHEN pg_catalog.array_position(k.indkey::int2[], a.attnum) < k.indnkeyatts
              THEN pg_catalog.array_position(k.indkey::int2[], a.attnum) END,
         CASE WHEN pg_catalog.array_position(i.indkey::int2[], a.attnum) < i.indnkeyatts
              THEN pg_catalog.array_position(i.indkey::int2[], a.attnum) END,
         k.indnkeyatts, i.indnkeyatts
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_attribute a
    ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND {published}
  LEFT JOIN pg_catalog.pg_index k ON k.indrelid = c.oid AND k.indisprimary
  LEFT JOIN pg_catalog.pg_index i
    ON i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
   AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END
  WHERE {condition}
  ORDER BY a.attnum)";

/// Which columns the stream has, by what this version's publications can say. $1: the publications.
std::string published_columns(int version) {
  if (version < 150000)
    return "a.attgenerated = '' AND $1::pg_catalog.text[] IS NOT NULL";
  const std::string listed = "(SELECT r.prattrs FROM pg_catalog.pg_publication_rel r"
                             " JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid"
                             " WHERE p.pubname = ANY ($1::pg_catalog.text[]) AND r.prrelid = c.oid"
                             " AND r.prattrs IS NOT NULL LIMIT 1)";
  const std::string generated =
      version < 180000 ? "false"
                       : "a.attgenerated = 's' AND (EXISTS (SELECT FROM pg_catalog.pg_publication p"
                         " WHERE p.pubname = ANY ($1::pg_catalog.text[]) AND p.pubgencols = 's')"
                         " OR NOT EXISTS (SELECT FROM pg_catalog.pg_publication p"
                         " WHERE p.pubname = ANY ($1::pg_catalog.text[])))";
  return "CASE WHEN " + listed + " IS NOT NULL THEN a.attnum = ANY (" + listed +
         "::int2[]) AND a.attgenerated <> 'v' ELSE a.attgenerated = '' OR " + generated + " END";
}

replica_identity identity_of(std::string_view letter) noexcept {
  switch (letter.empty() ? 'n' : letter.front()) {
    case 'd':
      return replica_identity::primary_key;
    case 'f':
      return replica_identity::full;
    case 'i':
      return replica_identity::index;
    default:
      return replica_identity::nothing;
  }
}

/// Columns and their places in an index; sorted they are the index's columns in its order.
using places = std::vector<std::pair<int, std::uint16_t>>;

std::vector<std::uint16_t> in_order(places found) {
  std::ranges::sort(found);
  std::vector<std::uint16_t> out;
  for (const auto& [place, column] : found)
    out.push_back(column);
  return out;
}

/// See class catalogue: what tells the rows of this table apart.
void choose_key(relation& shape, const places& primary, const places& identity) {
  auto& columns = shape.columns;
  for (const auto& [place, at] : identity)
    columns[at].is_identity_key = true;
  if (shape.identity == replica_identity::full) {
    for (auto& each : columns)
      each.is_identity_key = true;
  }
  const auto covered = std::ranges::all_of(
      primary, [&](const auto& part) { return columns[part.second].is_identity_key; });
  const auto by_primary = !primary.empty() && (covered || identity.empty());
  shape.key = in_order(by_primary ? primary : identity);
  for (const auto at : shape.key)
    columns[at].is_key = true;
}

std::uint32_t next_generation() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

relation read_columns(const rows& found) {
  relation out;
  out.oid = found.number<std::uint32_t>(0, 0);
  out.table = {std::string{found.text(0, 1)}, std::string{found.text(0, 2)}};
  out.identity = identity_of(found.text(0, 3));
  out.generation = next_generation();
  places primary;
  places identity;
  for (int row = 0; row < found.size() && !found.is_null(row, 4); ++row) {
    const auto at = static_cast<std::uint16_t>(out.columns.size());
    auto& next = out.columns.emplace_back();
    next.name = found.text(row, 4);
    next.attribute = found.number<std::int16_t>(row, 5);
    next.type_oid = found.number<std::uint32_t>(row, 6);
    next.type_modifier = found.number<std::int32_t>(row, 7);
    next.is_generated = found.flag(row, 8);
    next.is_identity = found.flag(row, 9);
    if (!found.is_null(row, 10))
      primary.emplace_back(found.number<int>(row, 10), at);
    if (!found.is_null(row, 11))
      identity.emplace_back(found.number<int>(row, 11), at);
  }
  // An index with a column that is not published identifies nothing here.
  if (primary.size() != found.number<std::size_t>(0, 12))
    primary.clear();
  if (identity.size() != found.number<std::size_t>(0, 13))
    identity.clear();
  choose_key(out, primary, identity);
  return out;
}

void replace(std::string& in, std::string_view what, const std::string& by) {
  in.replace(in.find(what), what.size(), by);
}

} // namespace

catalogue::catalogue(connection& on, std::vector<std::string> publications)
    : on_(on), publications_(std::move(publications)) {
  // nop
}

result<relation_ptr> catalogue::describe(std::uint32_t oid) {
  return describe_where("c.oid = $2::pg_catalog.oid", {std::to_string(oid)});
}

result<relation_ptr> catalogue::describe(const table_id& table) {
  return describe_where("n.nspname = $2 AND c.relname = $3 AND c.relkind IN ('r', 'p')",
                        {table.schema, table.name});
}

result<relation_ptr> catalogue::describe_where(const std::string& condition,
                                               std::vector<std::string> parameters) {
  parameters.insert(parameters.begin(), text_array(publications_));
  std::string sql = read_relation;
  replace(sql, "{published}", published_columns(on_.server_version()));
  replace(sql, "{condition}", condition);
  const auto found = on_.query(sql, parameters, "read a table's columns");
  if (!found)
    return tl::unexpected(found.error());
  if (found->empty())
    return relation_ptr{};
  auto shape = read_columns(*found);
  std::vector<std::uint32_t> oids;
  for (const auto& each : shape.columns)
    oids.push_back(each.type_oid);
  if (auto learned = types_.learn(on_, oids); !learned)
    return tl::unexpected(learned.error());
  for (auto& each : shape.columns) {
    auto facts = types_.find(each.type_oid).value_or(type_facts{});
    each.what = facts.what;
    each.element = facts.element;
    each.delimiter = facts.delimiter;
    each.type_name = std::move(facts.name);
  }
  return std::make_shared<const relation>(std::move(shape));
}

result<std::vector<listed_table>> catalogue::tables() {
  const auto found = on_.query(R"(
    SELECT c.oid, n.nspname, c.relname, c.relkind, c.relispartition, c.relpersistence = 'p'
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname !~ '^pg_(toast|temp_|toast_temp_)'
    ORDER BY n.nspname, c.relname)",
                               {}, "list the tables");
  if (!found)
    return tl::unexpected(found.error());
  std::vector<listed_table> out;
  for (int row = 0; row < found->size(); ++row)
    out.push_back({.oid = found->number<std::uint32_t>(row, 0),
                   .table = {std::string{found->text(row, 1)}, std::string{found->text(row, 2)}},
                   .kind = found->text(row, 3).front(),
                   .is_partition = found->flag(row, 4),
                   .is_logged = found->flag(row, 5)});
  return out;
}

std::string column_list(const relation& shape) {
  std::string out;
  for (const auto& each : shape.columns)
    out += (out.empty() ? "" : ", ") + quote_identifier(each.name);
  return out;
}

std::string quote_table(const table_id& table) {
  return quote_identifier(table.schema) + "." + quote_identifier(table.name);
}

std::string text_array(const std::vector<std::string>& elements) {
  std::string out = "{";
  for (const auto& element : elements) {
    out += out.size() > 1 ? ",\"" : "\"";
    for (const auto c : element) {
      if (c == '"' || c == '\\')
        out.push_back('\\');
      out.push_back(c);
    }
    out.push_back('"');
  }
  return out + "}";
}

} // namespace cdc::sources::postgres
