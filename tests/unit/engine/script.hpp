#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/block.hpp"
#include "messages/load.hpp"
#include "messages/target_table.hpp"

/// What a source would send, written by hand.
namespace cdc::engine::test {

inline constexpr std::string_view absent = "-";
inline constexpr std::string_view null = "NULL";

using row = std::vector<std::string>;

/// One table with an integer key `id` and the columns a, b, c.
inline relation_ptr shape_of(const std::string& name, std::uint32_t oid) {
  relation out{.table = {"public", name}, .oid = oid};
  for (const auto* each : {"id", "a", "b", "c"}) {
    const auto is_key = std::string_view{each} == "id";
    out.columns.push_back({.name = each,
                           .attribute = static_cast<std::int16_t>(out.columns.size() + 1),
                           .type_oid = is_key ? 23U : 25U,
                           .what = is_key ? kind::integer : kind::text,
                           .is_key = is_key,
                           .is_identity_key = is_key,
                           .type_name = is_key ? "int4" : "text"});
  }
  out.key = {0};
  return std::make_shared<relation>(std::move(out));
}

inline relation_ptr keyless_shape(const std::string& name, std::uint32_t oid) {
  auto out = std::make_shared<relation>(*shape_of(name, oid));
  out->key.clear();
  out->identity = replica_identity::full;
  out->columns[0].is_key = false;
  for (auto& each : out->columns)
    each.is_identity_key = true;
  return out;
}

inline target_table_ptr target_of(const relation_ptr& shape) {
  auto out = std::make_shared<target_table>();
  out->name = shape->table.name;
  out->source = shape;
  for (std::uint16_t i = 0; i < shape->columns.size(); ++i)
    out->columns.push_back({.name = shape->columns[i].name,
                            .source = i,
                            .what = shape->columns[i].what,
                            .is_key = shape->columns[i].is_key});
  out->key = shape->key;
  return out;
}

inline load_plan by_key(std::vector<std::string> bounds) {
  load_plan out;
  load_range now;
  for (auto& each : bounds) {
    now.to = {each};
    out.ranges.push_back(now);
    now = {.from = {each}};
  }
  out.ranges.push_back(now);
  return out;
}

inline load_plan by_page(std::size_t ranges) {
  load_plan out{.scheme = range_scheme::opaque, .by_page = true};
  out.ranges.resize(ranges);
  return out;
}

/// Fills blocks with changes of one or more tables.
class script {
public:
  explicit script(relation_ptr table)
      : table_(std::move(table)), builder_(pool_, {100'000, 1u << 30}) {}

  script& begin(std::uint32_t xid, std::uint64_t final) {
    open_ = {.final = {final}, .id = xid};
    builder_.begin(open_);
    return *this;
  }
  script& commit() {
    open_.end = {open_.final.token + 1};
    builder_.commit(open_);
    return *this;
  }
  script& on(relation_ptr table) {
    table_ = std::move(table);
    return *this;
  }
  script& insert(const row& cells) { return image(operation::insert, before_image::none, {cells}); }
  script& update(const row& cells) { return image(operation::update, before_image::none, {cells}); }
  script& update_full(const row& old, const row& cells) {
    return image(operation::update, before_image::full, {old, cells});
  }
  script& move(const std::string& from, const row& cells) {
    return image(operation::update, before_image::key, {key_image(from), cells});
  }
  script& remove(const std::string& key) {
    return image(operation::remove, before_image::key, {key_image(key)});
  }
  script& remove_full(const row& old) {
    return image(operation::remove, before_image::full, {old});
  }
  script& truncate() {
    builder_.truncate(table_);
    return *this;
  }
  script& advance(std::uint64_t end) {
    builder_.advance({end});
    return *this;
  }
  script& copy(const row& cells) { return image(operation::row, before_image::none, {cells}); }

  block_ptr take() { return builder_.take(); }

private:
  row key_image(const std::string& key) const {
    row out(table_->columns.size(), std::string{null});
    out[0] = key;
    return out;
  }
  script& image(operation what, before_image before, const std::vector<row>& images) {
    builder_.row(what, table_, before);
    for (const auto& cells : images) {
      for (const auto& each : cells) {
        if (each == absent)
          builder_.absent();
        else if (each == null)
          builder_.null();
        else
          builder_.value(each);
      }
    }
    return *this;
  }

  relation_ptr table_;
  block_pool pool_;
  block_builder builder_;
  transaction open_;
};

} // namespace cdc::engine::test
