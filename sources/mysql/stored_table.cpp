#include "sources/mysql/stored_table.hpp"

#include <algorithm>
#include <optional>

#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/values/value_codec.hpp"

namespace cdc::sources::mysql {

namespace {

std::string condition_of(const table_id& table) {
  return fmt::format("TABLE_SCHEMA = {} AND TABLE_NAME = {}", quote_literal(table.schema),
                     quote_literal(table.name));
}

result<void> read_engine(connection& on, const relation& shape, stored_table& into) {
  const auto found =
      on.query("SELECT t.ENGINE, e.TRANSACTIONS FROM information_schema.TABLES t"
               " LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE WHERE " +
                   condition_of(shape.table),
               "read the engine of " + to_string(shape.table));
  if (!found)
    return tl::unexpected(found.error());
  if (found->empty())
    return fail(errc::source_misconfigured, "{}: there is no table {} any more", on.describe(),
                to_string(shape.table));
  into.engine = found->text(0, 0);
  into.is_transactional = found->text(0, 1) == "YES";
  return {};
}

result<void> read_types(connection& on, const relation& shape, stored_table& into) {
  const auto now = catalogue{on}.describe(shape.table);
  if (!now)
    return tl::unexpected(now.error());
  for (const auto& column : shape.columns) {
    const auto at = *now ? (*now)->find(column.name) : std::nullopt;
    if (!at)
      return fail(errc::source_misconfigured, "{}: {} has no column {} any more; start again",
                  on.describe(), to_string(shape.table), column.name);
    into.types.push_back(detail_of(**now).types[*at]);
  }
  return {};
}

/// A unique index as the catalogue lists it.
struct index_columns {
  std::string name;
  std::vector<std::string> columns;
  std::size_t orderly = 0; ///< Of its columns, the leading ones that are whole and ascend.
};

result<std::vector<index_columns>> read_indexes(connection& on, const relation& shape) {
  const auto found = on.query("SELECT INDEX_NAME, COLUMN_NAME, COLLATION, SUB_PART, INDEX_TYPE"
                              " FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND " +
                                  condition_of(shape.table) +
                                  " ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX",
                              "read the indexes of " + to_string(shape.table));
  if (!found)
    return tl::unexpected(found.error());
  std::vector<index_columns> out;
  for (std::size_t row = 0; row < found->size(); ++row) {
    if (out.empty() || out.back().name != found->text(row, 0))
      out.push_back({.name = std::string{found->text(row, 0)}, .columns = {}, .orderly = 0});
    auto& index = out.back();
    const auto is_orderly = found->text(row, 2) == "A" && found->is_null(row, 3) &&
                            found->text(row, 4) == "BTREE" &&
                            index.orderly == index.columns.size();
    index.columns.emplace_back(found->text(row, 1));
    index.orderly += is_orderly ? 1 : 0;
  }
  return out;
}

bool is_over_key(const index_columns& index, const relation& shape) {
  return std::ranges::equal(index.columns, shape.key, [&](const std::string& name, auto at) {
    return name == shape.columns[at].name;
  });
}

result<void> read_order(connection& on, const relation& shape, stored_table& into) {
  const auto indexes = read_indexes(on, shape);
  if (!indexes)
    return tl::unexpected(indexes.error());
  const auto index = std::ranges::find_if(
      *indexes, [&](const index_columns& each) { return is_over_key(each, shape); });
  if (index == indexes->end())
    return {};
  into.index = index->name;
  for (std::size_t i = 0; i < index->orderly; ++i) {
    const auto at = shape.key[i];
    auto part = make_key_part(shape.columns[at].name, into.types[at]);
    if (part.form == literal_form::unordered)
      break;
    into.ordered.push_back(std::move(part));
  }
  return {};
}

} // namespace

std::string stored_table::column_list(const relation& shape) const {
  std::string out;
  for (std::size_t i = 0; i < shape.columns.size(); ++i)
    out += (i == 0 ? "" : ", ") +
           select_expression(types[i], quote_identifier(shape.columns[i].name));
  return out;
}

std::string stored_table::from_clause(const relation& shape) const {
  return " FROM " + quote_table(shape.table) +
         (ordered.empty() ? "" : " FORCE INDEX (" + quote_identifier(index) + ")");
}

key_part make_key_part(const std::string& name, const column_type& type) {
  key_part out{.name = name, .is_unsigned = type.is_unsigned};
  switch (type.field) {
    case field_type::tiny:
    case field_type::small:
    case field_type::medium:
    case field_type::integer:
    case field_type::big:
    case field_type::decimal:
      out.form = literal_form::number;
      break;
    case field_type::date:
    case field_type::datetime:
    case field_type::timestamp:
    case field_type::time:
      out.form = literal_form::quoted;
      break;
    case field_type::varchar:
    case field_type::var_string:
    case field_type::string:
      if (type.shown_as == disguise::none) {
        out.form = literal_form::hex;
        if (type.charset != character_set::binary)
          out.charset = to_string(type.charset);
      } else if (type.shown_as != disguise::vector && type.shown_as != disguise::json) {
        out.form = literal_form::quoted;
      }
      break;
    default:
      break;
  }
  return out;
}

result<stored_table> read_stored_table(connection& on, const relation& shape) {
  stored_table out;
  if (auto read = read_engine(on, shape, out); !read)
    return tl::unexpected(read.error());
  if (auto read = read_types(on, shape, out); !read)
    return tl::unexpected(read.error());
  if (shape.key.empty())
    return out;
  if (auto read = read_order(on, shape, out); !read)
    return tl::unexpected(read.error());
  return out;
}

} // namespace cdc::sources::mysql
