#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/integer_division.hpp"
#include "sources/mysql/stored_table.hpp"

namespace cdc::sources::mysql {

namespace {

using bound = std::vector<std::string>;

constexpr std::uint64_t sign = std::uint64_t{1} << 63;

/// Integers of either sign in one order of unsigned numbers.
std::uint64_t ordinal_of(std::string_view text, bool is_unsigned) {
  std::uint64_t magnitude = 0;
  const auto negative = text.starts_with('-');
  if (negative)
    text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), magnitude);
  if (is_unsigned)
    return magnitude;
  return (negative ? ~magnitude + 1 : magnitude) ^ sign;
}

std::string text_of(std::uint64_t ordinal, bool is_unsigned) {
  return is_unsigned ? std::to_string(ordinal)
                     : std::to_string(static_cast<std::int64_t>(ordinal ^ sign));
}

bool is_integer(const relation& shape, std::size_t place) {
  return shape.columns[shape.key[place]].what == kind::integer;
}

/// Makes one plan. What its methods share: the connection and the table.
class planner {
public:
  planner(connection& on, const relation& shape, const stored_table& stored,
          std::uint32_t chunk_rows)
      : on_(on), shape_(shape), stored_(stored), rows_each_(chunk_rows),
        doing_("divide " + to_string(shape.table)) {}

  result<load_plan> run();

private:
  [[nodiscard]] range_scheme scheme() const;
  [[nodiscard]] result<std::uint64_t> estimate(const load_range& range);
  [[nodiscard]] result<void> by_estimates(std::uint64_t rows);
  [[nodiscard]] result<void> by_steps(const load_range& within);

  connection& on_;
  const relation& shape_;
  const stored_table& stored_;
  std::uint64_t rows_each_;
  std::string doing_;
  std::vector<bound> bounds_;
};

// The engine orders integers as the server does, and nothing else for certain.
range_scheme planner::scheme() const {
  if (shape_.key.empty())
    return range_scheme::keyless;
  for (std::size_t i = 0; i < shape_.key.size(); ++i)
    if (!is_integer(shape_, i))
      return range_scheme::opaque;
  return stored_.ordered.size() == shape_.key.size() ? range_scheme::key : range_scheme::opaque;
}

// The server looks how deep in the index both ends of the range lie; it reads no rows. MySQL spares
// itself that look where an index is forced.
result<std::uint64_t> planner::estimate(const load_range& range) {
  const auto where = where_range(stored_.ordered, range);
  if (!where)
    return tl::unexpected(where.error());
  const auto index =
      stored_.index.empty() ? "" : " USE INDEX (" + quote_identifier(stored_.index) + ")";
  const auto found = on_.query("EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM " +
                                   quote_table(shape_.table) + index + *where,
                               doing_);
  if (!found)
    return tl::unexpected(found.error());
  std::uint64_t out = 0;
  if (!found->empty()) {
    const auto rows = found->text(0, "rows");
    std::from_chars(rows.data(), rows.data() + rows.size(), out);
  }
  return out;
}

result<void> planner::by_estimates(std::uint64_t rows) {
  const auto& part = stored_.ordered.front();
  const auto name = quote_identifier(part.name);
  const auto ends = on_.query(
      fmt::format("SELECT MIN({0}), MAX({0}) FROM {1}", name, quote_table(shape_.table)), doing_);
  if (!ends)
    return tl::unexpected(ends.error());
  if (ends->empty() || ends->is_null(0, 0))
    return {};
  const auto text = [&](std::uint64_t ordinal) { return text_of(ordinal, part.is_unsigned); };
  const auto last = ordinal_of(ends->text(0, 1), part.is_unsigned);
  const auto range_of = [&](std::uint64_t from, std::uint64_t to) {
    load_range out{.from = {text(from)}, .to = {}};
    if (to != last)
      out.to = {text(to + 1)};
    return out;
  };
  const auto spans =
      divide({.first = ordinal_of(ends->text(0, 0), part.is_unsigned), .last = last, .rows = rows},
             rows_each_,
             [&](std::uint64_t from, std::uint64_t to) { return estimate(range_of(from, to)); });
  if (!spans)
    return tl::unexpected(spans.error());
  for (const auto& span : *spans) {
    if (&span != &spans->front())
      bounds_.push_back({text(span.first)});
    const auto is_too_large = span.first == span.last && span.rows > rows_each_ + rows_each_ / 2;
    if (!is_too_large || stored_.ordered.size() == 1)
      continue;
    if (auto divided = by_steps(range_of(span.first, span.last)); !divided)
      return divided;
  }
  return {};
}

/// Walks along the index, a range at a time.
result<void> planner::by_steps(const load_range& within) {
  std::string names;
  std::string values;
  for (const auto& part : stored_.ordered) {
    names += (names.empty() ? "" : ", ") + quote_identifier(part.name);
    values += (values.empty() ? "" : ", ") + bound_expression(part);
  }
  const auto where = where_range(stored_.ordered, within);
  if (!where)
    return tl::unexpected(where.error());
  for (bound last;;) {
    auto condition = *where;
    if (!last.empty()) {
      const auto above = is_above(stored_.ordered, last);
      if (!above)
        return tl::unexpected(above.error());
      condition += (condition.empty() ? " WHERE " : " AND ") + *above;
    }
    const auto found = on_.query(fmt::format("SELECT {}{}{} ORDER BY {} LIMIT 1 OFFSET {}", values,
                                             stored_.from_clause(shape_), condition, names,
                                             last.empty() ? rows_each_ : rows_each_ - 1),
                                 doing_);
    if (!found)
      return tl::unexpected(found.error());
    if (found->empty())
      return {};
    last.clear();
    for (std::size_t column = 0; column < found->columns(); ++column)
      last.emplace_back(found->text(0, column));
    bounds_.push_back(last);
  }
}

result<load_plan> planner::run() {
  const auto rows = estimate({});
  if (!rows)
    return tl::unexpected(rows.error());
  load_plan out{.scheme = scheme(), .ranges = {load_range{}}, .rows_estimate = *rows};
  if (stored_.ordered.empty() || *rows <= rows_each_)
    return out;
  const auto divided = is_integer(shape_, 0) ? by_estimates(*rows) : by_steps({});
  if (!divided)
    return tl::unexpected(divided.error());
  for (const auto& each : bounds_) {
    out.ranges.back().to = each;
    out.ranges.push_back({.from = each, .to = {}});
  }
  return out;
}

} // namespace

result<load_plan> make_plan(connection& on, const relation& shape, const stored_table& stored,
                            std::uint32_t chunk_rows) {
  return planner{on, shape, stored, chunk_rows}.run();
}

} // namespace cdc::sources::mysql
