#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "messages/batch.hpp"
#include "messages/checkpoint.hpp"
#include "messages/row_key.hpp"
#include "tests/unit/engine/script.hpp"

namespace cdc::engine::test {

/// A table target in memory. Rows by table and key; keyless tables as a multiset.
class target {
public:
  struct table {
    std::map<std::string, row> rows;
    std::multiset<row> bag;
    std::set<std::string> list;
    bool operator==(const table&) const = default;
  };

  std::map<std::string, table> tables;
  std::map<std::string, std::string> records;
  std::optional<checkpoint> resume;
  std::uint64_t not_found = 0;
  std::vector<std::string> story; ///< One line a change.

  write_report write(const batch& work);
  sink_state state() const;

private:
  void apply(const batch& work, const change& what, table& to, write_report& report);

  std::optional<std::pair<std::map<std::string, table>, std::uint64_t>> rollback_;

public:
  /// The connection is gone: what a piece left open is rolled back.
  void lose_connection();
};

namespace detail {

inline std::string text_of(const block& rows, const cell& at) {
  if (at.is_absent())
    return std::string{absent};
  return at.is_null() ? std::string{null} : std::string{rows.text(at)};
}

inline row image_of(const block& rows, const target_table& of, std::uint32_t first) {
  row out;
  for (const auto& each : rows.image(first, *of.source))
    out.push_back(text_of(rows, each));
  return out;
}

inline std::string joined(const row& cells) {
  std::string out;
  for (const auto& each : cells)
    out += (out.empty() ? "" : " ") + each;
  return out;
}

inline void overlay(row& to, const row& with) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (with[i] != absent)
      to[i] = with[i];
  }
}

inline constexpr const char* names[] = {"upsert", "remove", "partial",  "move",
                                        "insert", "erase",  "truncate", "forget"};

} // namespace detail

inline write_report target::write(const batch& work) {
  if (!rollback_)
    rollback_.emplace(tables, not_found);
  write_report report{.batch = work.number};
  for (const auto& each : work.changes)
    apply(work, each, tables[work.tables[each.table]->name], report);
  for (const auto& each : work.listed)
    tables[each.table].list.insert(each.key);
  for (const auto& each : work.records) {
    if (each.value)
      records[each.name] = *each.value;
    else
      records.erase(each.name);
  }
  EXPECT_TRUE(work.ends_transaction || !work.reaches);
  if (work.reaches) {
    EXPECT_TRUE(!resume || *resume != *work.reaches || work.is_durable);
    resume = work.reaches;
  }
  if (work.is_durable && resume)
    report.durable = resume->resume;
  if (work.ends_transaction)
    rollback_.reset();
  return report;
}

inline void target::lose_connection() {
  if (!rollback_)
    return;
  std::tie(tables, not_found) = *rollback_;
  rollback_.reset();
}

inline void target::apply(const batch& work, const change& what, table& to, write_report& report) {
  const auto& of = *work.tables[what.table];
  row before;
  row after;
  if (what.before != change::none)
    before = detail::image_of(*work.blocks[what.block], of, what.before);
  if (what.after != change::none)
    after = detail::image_of(*work.blocks[what.block], of, what.after);
  const auto key = [](const row& of_row) { return encode_key(std::vector{of_row[0]}); };
  story.push_back(std::string{detail::names[static_cast<int>(what.what)]} + " " +
                  detail::joined(before.empty() ? after : before) +
                  (before.empty() || after.empty() ? "" : " > " + detail::joined(after)));
  switch (what.what) {
    case action::upsert:
      EXPECT_EQ(std::ranges::find(after, absent), after.end());
      to.rows[key(after)] = after;
      to.list.erase(key(after));
      break;
    case action::remove:
      to.rows.erase(key(before));
      to.list.erase(key(before));
      break;
    case action::partial: {
      const auto found = to.rows.find(key(after));
      if (found != to.rows.end())
        detail::overlay(found->second, after);
      else if (what.keep_if_missing)
        to.list.insert(key(after));
      report.answers.push_back({what.number, found != to.rows.end()});
      break;
    }
    case action::move: {
      const auto found = to.rows.find(key(before));
      to.list.erase(key(before));
      to.rows.erase(key(after));
      report.answers.push_back({what.number, found != to.rows.end()});
      if (found == to.rows.end()) {
        if (what.keep_if_missing)
          to.list.insert(key(after));
        break;
      }
      auto moved = found->second;
      to.rows.erase(found);
      detail::overlay(moved, after);
      to.list.erase(key(after));
      to.rows[key(after)] = moved;
      break;
    }
    case action::insert:
      to.bag.insert(after);
      break;
    case action::erase:
      if (const auto found = to.bag.find(before); found != to.bag.end())
        to.bag.erase(found);
      else
        ++not_found;
      break;
    case action::truncate:
      to.rows.clear();
      to.bag.clear();
      to.list.clear();
      break;
    case action::forget:
      to.list.erase(key(before));
      break;
  }
}

inline sink_state target::state() const {
  sink_state out{.epoch = 1, .resume = resume, .records = {records.begin(), records.end()}};
  for (const auto& [name, each] : tables) {
    for (const auto& key : each.list)
      out.refetch.push_back({name, key});
  }
  return out;
}

} // namespace cdc::engine::test
