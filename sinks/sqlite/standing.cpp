#include "sinks/sqlite/standing.hpp"

#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "config/fold.hpp"
#include "sinks/sqlite/database.hpp"
#include "sinks/sqlite/schema.hpp"
#include "sinks/sqlite/state_tables.hpp"
#include "sinks/sqlite/statement.hpp"

namespace cdc::sinks::sqlite {

namespace {

// A database that another program made has none of our tables.
result<bool> is_ours(database& db) {
  const auto found = read_shape(db, "_cdc_checkpoint");
  if (!found)
    return tl::unexpected(found.error());
  return found->has_value();
}

result<std::set<std::string>> known_tables(database& db) {
  auto query = statement::prepare(db, "SELECT name FROM _cdc_tables");
  if (!query)
    return tl::unexpected(std::move(query).error());
  std::set<std::string> out;
  return query
      ->for_each_row(db, "read which tables the stream wrote", [&] { out.insert(query->text(0)); })
      .map([&] { return std::move(out); });
}

/// Names that the file could not hold side by side, whether it exists or not.
void check_names(const std::vector<target_table_ptr>& tables, std::vector<remark>& out) {
  std::map<std::string, std::string> taken;
  for (const auto& table : tables) {
    const auto folded = config::fold(table->name);
    const auto source = to_string(table->source->table);
    if (folded.starts_with("sqlite_") || folded.starts_with("_cdc_"))
      out.push_back({true, fmt::format("{} cannot be named {}: such names are taken; give it "
                                       "another with into",
                                       source, table->name)});
    const auto [other, is_free] = taken.emplace(folded, source);
    if (!is_free)
      out.push_back({true, fmt::format("{} and {} would both be written to table {}; give one of "
                                       "them another name with into",
                                       other->second, source, table->name)});
    if (auto obstacle = name_obstacle(*table); !obstacle.empty())
      out.push_back({true, std::move(obstacle)});
  }
}

result<void> check_shapes(database& db, const config::target_config& target,
                          const std::vector<target_table_ptr>& tables, std::vector<remark>& out) {
  const schema_options options{target.numeric_as_number, target.add_columns};
  const auto ours = is_ours(db);
  if (!ours)
    return tl::unexpected(ours.error());
  const auto known = *ours ? known_tables(db) : std::set<std::string>{};
  if (!known)
    return tl::unexpected(known.error());
  for (const auto& table : tables) {
    const auto have = read_shape(db, table->name);
    if (!have)
      return tl::unexpected(have.error());
    if (!*have)
      continue;
    const auto gap = compare(**have, *table, options);
    if (gap.none())
      continue;
    const auto is_known = known->contains(table->name);
    out.push_back(
        {!is_known || !is_closable(gap, *table, options),
         fmt::format("{}: {}", target.path, describe(gap, **have, *table, options, is_known))});
  }
  return {};
}

} // namespace

result<std::optional<standing>> read_standing(const config::target_config& target) {
  database db;
  // One transaction: the checkpoint and what stands beside it are of one moment.
  const auto opened =
      db.open_for_reading(target.path).and_then([&] { return db.execute("BEGIN"); });
  if (!opened)
    return tl::unexpected(opened.error());
  const auto ours = is_ours(db);
  if (!ours)
    return tl::unexpected(ours.error());
  if (!*ours)
    return std::nullopt;
  auto row = read_checkpoint_row(db);
  if (!row)
    return tl::unexpected(row.error());
  if (!*row)
    return std::nullopt;
  auto records = read_records(db);
  if (!records)
    return tl::unexpected(records.error());
  auto listed = read_listed(db);
  if (!listed)
    return tl::unexpected(listed.error());
  standing out;
  out.stream = std::move((*row)->stream);
  out.written_at = (*row)->written_at;
  out.state = {(*row)->epoch, (*row)->resume, *std::move(records), *std::move(listed)};
  return out;
}

void find_obstacles(const config::target_config& target,
                    const std::vector<target_table_ptr>& tables, std::vector<remark>& out) {
  check_names(tables, out);
  std::error_code unknown;
  if (!std::filesystem::exists(target.path, unknown))
    return;
  database db;
  auto looked = db.open_for_reading(target.path).and_then([&] {
    return check_shapes(db, target, tables, out);
  });
  if (!looked)
    out.push_back({true, looked.error().detail});
}

} // namespace cdc::sinks::sqlite
