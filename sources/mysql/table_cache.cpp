#include "sources/mysql/table_cache.hpp"

#include <algorithm>
#include <utility>

#include "sources/mysql/catalogue.hpp"

namespace cdc::sources::mysql {

namespace {

// A server that is never restarted opens tables for ever.
constexpr std::size_t entries_max = 10'000;

/// The event's types made whole by the catalogue's; nothing when the two are not one table.
std::optional<std::vector<column_type>> joined_types(const table_map& map, const relation& shape) {
  const auto& known = detail_of(shape).types;
  if (map.columns.size() != shape.columns.size())
    return std::nullopt;
  std::vector<column_type> out;
  for (std::size_t i = 0; i < map.columns.size(); ++i) {
    out.push_back(map.columns[i].type);
    if ((map.has_names && map.columns[i].name != shape.columns[i].name) ||
        !complete(out.back(), known[i]))
      return std::nullopt;
  }
  return out;
}

} // namespace

result<table_cache::found> table_cache::describe(const event_view& in, log_writer by) {
  const auto head = decode_table_head(in);
  if (!head)
    return tl::unexpected(head.error());
  auto* known = find(head->id);
  if (known && std::ranges::equal(known->body, in.body) && (known->rows || !known->is_taken))
      [[likely]]
    return found::ready;
  if (!known && entries_.size() >= entries_max)
    entries_.clear();
  last_ = nullptr;
  auto& at = entries_[head->id];
  at = std::make_unique<entry>();
  at->body.assign(in.body.begin(), in.body.end());
  const table_id name{std::string{head->schema}, std::string{head->name}};
  at->is_taken = takes_(name);
  if (!at->is_taken)
    return found::ready;
  auto map = decode_table_map(in, by);
  if (!map)
    return tl::unexpected(map.error());
  at->map = *std::move(map);
  auto& table = known_[oid_of(name)];
  if (table.shape && !table.is_stale) {
    auto fits = fit(at->map, table.shape);
    if (fits) {
      at->rows.emplace(*std::move(fits));
      return found::ready;
    }
    if (fits.error().code != errc::source_unavailable)
      return tl::unexpected(fits.error());
  }
  if (!std::exchange(table.was_asked, true)) {
    want(name);
    return found::held;
  }
  auto made = from_event(at->map, table.shape);
  if (!made)
    return tl::unexpected(made.error());
  at->rows.emplace(*std::move(made));
  return found::ready;
}

table_cache::entry* table_cache::find(std::uint64_t id) noexcept {
  if (last_ && last_id_ == id) [[likely]]
    return last_;
  const auto at = entries_.find(id);
  if (at == entries_.end())
    return nullptr;
  last_id_ = id;
  last_ = at->second.get();
  return last_;
}

// errc::source_unavailable: they are not one table.
result<row_decoder> table_cache::fit(const table_map& map, const relation_ptr& shape) const {
  const auto types = joined_types(map, *shape);
  if (!types)
    return fail(errc::source_unavailable, "another table");
  return row_decoder::make(shape, *types);
}

result<row_decoder> table_cache::from_event(const table_map& map, const relation_ptr& known) const {
  const table_id name{map.schema, map.name};
  if (!map.has_names)
    return fail(errc::source_misconfigured,
                "rows of {} in the log are of another shape than the table has now, and the log "
                "does not say of which: SET GLOBAL binlog_row_metadata = FULL for what comes, and "
                "load the table anew",
                to_string(name));
  relation out;
  out.table = name;
  out.oid = oid_of(name);
  out.generation = next_generation();
  out.identity = replica_identity::full;
  auto detail = std::make_shared<logged_table>();
  for (const auto& logged : map.columns) {
    auto type = logged.type;
    const auto same = known ? known->find(logged.name) : std::nullopt;
    if (same)
      (void)complete(type, detail_of(*known).types[*same]);
    auto made = make_column(logged.name, type);
    made.attribute = static_cast<std::int16_t>(out.columns.size() + 1);
    made.is_identity_key = true;
    out.columns.push_back(std::move(made));
    detail->types.push_back(std::move(type));
  }
  out.key = map.primary_key;
  if (out.key.empty() && known) {
    for (const auto at : known->key) {
      const auto same = out.find(known->columns[at].name);
      if (!same) {
        out.key.clear();
        break;
      }
      out.key.push_back(static_cast<std::uint16_t>(*same));
    }
  }
  for (const auto at : out.key)
    out.columns[at].is_key = true;
  const auto types = detail->types;
  out.detail = std::move(detail);
  return row_decoder::make(std::make_shared<const relation>(std::move(out)), types);
}

relation_ptr table_cache::shape_of(const table_id& table) const {
  const auto at = known_.find(oid_of(table));
  return at == known_.end() ? nullptr : at->second.shape;
}

void table_cache::changed(const table_id& table) {
  auto& known = known_[oid_of(table)];
  known.is_stale = true;
  known.was_asked = false;
  for (auto& [id, each] : entries_)
    if (each->map.schema == table.schema && each->map.name == table.name)
      each->rows.reset();
}

void table_cache::want(const table_id& table) {
  const auto oid = oid_of(table);
  if (std::ranges::find(wanted_, oid) == wanted_.end())
    wanted_.push_back(oid);
}

std::optional<std::uint32_t> table_cache::wanted() const noexcept {
  return wanted_.empty() ? std::nullopt : std::optional{wanted_.front()};
}

void table_cache::provide(relation_ptr shape) {
  const auto oid = shape ? shape->oid : wanted_.empty() ? 0 : wanted_.front();
  auto& known = known_[oid];
  if (shape)
    known.shape = std::move(shape);
  known.is_stale = false;
  known.was_asked = wanted().has_value() && wanted_.front() == oid;
  std::erase(wanted_, oid);
}

} // namespace cdc::sources::mysql
