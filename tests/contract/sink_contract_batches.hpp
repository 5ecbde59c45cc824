#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/batch.hpp"
#include "messages/row_key.hpp"

namespace cdc::contract {

/// One cell of a test row: text, NULL, or absent.
struct value {
  enum class state { text, null, absent };
  state is = state::text;
  std::string text;

  value(const char* written) : text(written) {}            // NOLINT: rows read as literals
  value(std::string written) : text(std::move(written)) {} // NOLINT
  value(std::nullptr_t) : is(state::null) {}               // NOLINT
  explicit value(state other) : is(other) {}
};
inline const value absent{value::state::absent};
using row = std::vector<value>;

struct column_spec {
  std::string name;
  kind what = kind::text;
  bool is_key = false;
  bool is_unsigned = false;
};

/// A source shape and its target of the same names.
inline target_table_ptr make_table(const std::string& name, const std::vector<column_spec>& columns,
                                   std::uint32_t generation = 1) {
  auto shape = std::make_shared<relation>();
  auto out = std::make_shared<target_table>();
  shape->table = {"public", name};
  shape->oid = 16384;
  shape->generation = generation;
  out->name = name;
  for (std::uint16_t i = 0; i < columns.size(); ++i) {
    const auto& it = columns[i];
    column made;
    made.name = it.name;
    made.attribute = static_cast<std::int16_t>(i + 1);
    made.what = it.what;
    made.is_unsigned = it.is_unsigned;
    made.is_key = made.is_identity_key = it.is_key;
    shape->columns.push_back(made);
    target_column target;
    target.name = it.name;
    target.source = i;
    target.what = it.what;
    target.is_key = it.is_key;
    out->columns.push_back(target);
    if (it.is_key) {
      shape->key.push_back(i);
      out->key.push_back(i);
    }
  }
  if (shape->key.empty())
    shape->identity = replica_identity::full;
  out->source = shape;
  return out;
}

/// Two text columns behind an integer key.
inline target_table_ptr items_table(const std::string& suffix = "") {
  return make_table("items" + suffix, {{"id", kind::integer, true}, {"a"}, {"b"}});
}

/// Two columns, no key.
inline target_table_ptr notes_table() {
  return make_table("notes", {{"a"}, {"b"}});
}

/// Writes batches as the engine would, one transaction at positions 10, 20, 30 … each unless told.
/// Numbers of batches and changes ascend over the life of one batches object.
class batches {
public:
  batches& upsert(const target_table_ptr& table, const row& after) {
    return add(action::upsert, table, nullptr, &after);
  }
  batches& insert(const target_table_ptr& table, const row& after) {
    return add(action::insert, table, nullptr, &after);
  }
  batches& remove(const target_table_ptr& table, const row& before) {
    return add(action::remove, table, &before, nullptr);
  }
  batches& erase(const target_table_ptr& table, const row& before) {
    return add(action::erase, table, &before, nullptr);
  }
  batches& forget(const target_table_ptr& table, const row& before) {
    return add(action::forget, table, &before, nullptr);
  }
  batches& partial(const target_table_ptr& table, const row& after, bool keep = false) {
    add(action::partial, table, nullptr, &after);
    next_->changes.back().keep_if_missing = keep;
    return *this;
  }
  batches& move(const target_table_ptr& table, const row& before, const row& after,
                bool keep = false) {
    add(action::move, table, &before, &after);
    next_->changes.back().keep_if_missing = keep;
    return *this;
  }
  /// A move without a base: an inserted image that lacks cells.
  batches& appear(const target_table_ptr& table, const row& after, bool keep = false) {
    add(action::move, table, nullptr, &after);
    next_->changes.back().keep_if_missing = keep;
    return *this;
  }
  batches& truncate(const target_table_ptr& table) {
    return add(action::truncate, table, nullptr, nullptr);
  }
  batches& record(std::string name, std::optional<std::string> text) {
    open().records.push_back({std::move(name), std::move(text)});
    return *this;
  }
  batches& list(const target_table_ptr& table, const std::vector<std::string>& key) {
    open().listed.push_back({table->name, encode_key(key)});
    return *this;
  }
  batches& durable() {
    open().is_durable = true;
    return *this;
  }
  batches& copies() {
    is_copy_ = true;
    return *this;
  }

  /// The batch, which reaches the next position.
  batch_ptr commit() {
    position_ += 10;
    return commit_at(position_);
  }
  batch_ptr commit_at(std::uint64_t at) {
    position_ = at;
    open().reaches = checkpoint{{at}, {at - 1}};
    open().transactions.push_back(
        {.final = {at - 1}, .end = {at}, .id = 700, .commit_time = commit_time});
    return take();
  }
  /// The batch, whose transaction goes on in the next one.
  batch_ptr piece() {
    open().ends_transaction = false;
    open().transactions.push_back(
        {.final = {position_ + 9}, .id = 700, .commit_time = commit_time});
    return take();
  }
  /// The batch as it is: copied rows, records, listed keys.
  batch_ptr take() {
    seal();
    is_copy_ = false;
    return std::exchange(next_, nullptr);
  }

  static constexpr std::int64_t commit_time =
      1'764'522'000'123'456; ///< 2025-11-30T17:00:00.123456Z

  [[nodiscard]] std::uint64_t last_change() const noexcept { return changes_; }

private:
  batch& open() {
    if (!next_) {
      next_ = std::make_shared<batch>();
      next_->number = ++number_;
    }
    return *next_;
  }

  std::uint16_t index_of(const target_table_ptr& table) {
    auto& tables = open().tables;
    for (std::uint16_t i = 0; i < tables.size(); ++i)
      if (tables[i] == table)
        return i;
    tables.push_back(table);
    return static_cast<std::uint16_t>(tables.size() - 1);
  }

  void write(const row& image) {
    for (const auto& it : image) {
      if (it.is == value::state::text)
        builder_.value(it.text);
      else if (it.is == value::state::null)
        builder_.null();
      else
        builder_.absent();
    }
  }

  batches& add(action what, const target_table_ptr& table, const row* before, const row* after) {
    change made;
    made.what = what;
    made.table = index_of(table);
    made.number = ++changes_;
    made.version = changes_ * 2 + 1;
    made.is_copy = is_copy_;
    made.transaction = is_copy_ ? change::none : 0;
    builder_.row(operation::update, table->source,
                 before != nullptr && after != nullptr ? before_image::full : before_image::none);
    auto at = cells_;
    if (before != nullptr) {
      made.before = at;
      write(*before);
      at += static_cast<std::uint32_t>(before->size());
    }
    if (after != nullptr) {
      made.after = at;
      write(*after);
      at += static_cast<std::uint32_t>(after->size());
    }
    cells_ = at;
    open().changes.push_back(made);
    return *this;
  }

  void seal() {
    open().blocks.push_back(builder_.take());
    cells_ = 0;
  }

  block_pool pool_;
  block_builder builder_{pool_, {.events = 1'000'000, .bytes = std::size_t{1} << 30}};
  std::shared_ptr<batch> next_;
  std::uint64_t number_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t position_ = 0;
  std::uint32_t cells_ = 0;
  bool is_copy_ = false;
};

} // namespace cdc::contract
