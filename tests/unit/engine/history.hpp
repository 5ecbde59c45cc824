#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "messages/row_key.hpp"
#include "tests/unit/engine/memory_target.hpp"
#include "tests/unit/engine/script.hpp"

/// A small world to tell histories in: a source's log by hand, an engine, and a table target.
namespace cdc::engine::test {

/// One story: what the source logs, what becomes visible, what the engine is told.
class history {
public:
  struct options {
    engine_options engine{};
    rule_switches rule{};
    std::vector<std::string> bounds{}; ///< Of the ranges by key.
    std::size_t pages = 0;             ///< Ranges by page instead.
    bool is_planned = true;
    bool is_loaded = false; ///< The load was finished in an earlier life.
    bool is_keyless = false;
    bool is_append_only = false;
  };

  history() : history(options{}) {}
  explicit history(options with);

  // -- the source
  script log; ///< What the log brings next.
  void hides(std::uint32_t xid) {
    hidden_.insert(xid);
    next_xid_ = std::max(next_xid_, xid + 1);
  }
  void shows(std::uint32_t xid) { hidden_.erase(xid); }
  snapshot now() const; ///< What a snapshot taken now sees.

  /// Logs one transaction; its position is the next multiple of ten. streams() brings it.
  block_ptr logs(std::uint32_t xid, const std::function<void(script&)>& changes);
  /// Logs and streams one.
  void transaction(std::uint32_t xid, const std::function<void(script&)>& changes);
  void streams(block_ptr rows);
  std::uint64_t end() const { return position_ + 1; } ///< Of the log.

  // -- the load
  void opens(std::vector<std::uint32_t> ranges);
  verdict hands_over(std::uint32_t range) { return hands_over(range, now()); }
  verdict hands_over(std::uint32_t range, const snapshot& seen);
  void copies(std::uint32_t range, const std::vector<row>& rows);
  void ends(std::uint32_t range);
  /// Opens, reads and ends a range with these rows, seen now.
  void loads(std::uint32_t range, const std::vector<row>& rows);
  verdict refetches(const std::string& key, const std::optional<row>& found, const snapshot& seen);
  verdict refetches(const std::string& key, const std::optional<row>& found) {
    return refetches(key, found, now());
  }

  // -- the target
  /// Sends what there is and gives the answers, until nothing is left.
  void writes();
  /// Sends what there is; the answers are given later.
  void sends();
  void answers();
  /// A new life from what the target holds.
  void crashes();

  const row* at_target(const std::string& id);
  bool is_listed(const std::string& id);
  std::vector<news> hears() { return std::exchange(news_, {}); }
  bool heard(enum news::what what);

  relation_ptr shape;
  target_table_ptr table;
  std::optional<engine> it;
  target at;

private:
  void starts();
  void listens();
  std::string encoded(const std::string& id) const { return encode_key(std::vector{id}); }

  options with_;
  std::set<std::uint32_t> hidden_;
  std::uint32_t next_xid_ = 600;
  std::uint64_t position_ = 1000;
  std::vector<news> news_;
  std::vector<write_report> reports_;
};

inline history::history(options with)
    : log(nullptr), shape(with.is_keyless ? keyless_shape("items", 1) : shape_of("items", 1)),
      table(target_of(shape)), with_(std::move(with)) {
  log.on(shape);
  if (with_.is_append_only) {
    auto changed = std::make_shared<target_table>(*table);
    changed->append_only = true;
    table = changed;
  }
  if (with_.is_loaded) {
    table_progress done{.plan = by_key(with_.bounds)};
    done.done.assign(done.plan.ranges.size(), true);
    at.records[progress_record("items")] = to_text(done);
    at.resume = checkpoint{{position_ + 1}, {position_}};
  }
  starts();
}

inline void history::starts() {
  const auto state = at.state();
  const auto stored = stored_progress(state, "items");
  ASSERT_TRUE(stored);
  start_point start;
  start.from = state.resume.value_or(checkpoint{{position_ + 1}, {position_}});
  start.is_first = !state.resume;
  std::vector<table_setup> tables{{table, *stored}};
  if (needs_start_view(state, tables))
    start.unproved = {hidden_.begin(), hidden_.end()};
  it.emplace(with_.engine, tables, state, start, with_.rule);
  news_.clear();
  reports_.clear();
  if (!*stored && with_.is_planned)
    it->planned(0, with_.pages > 0 ? by_page(with_.pages) : by_key(with_.bounds));
  listens();
}

inline snapshot history::now() const {
  return {.xmin = hidden_.empty() ? next_xid_ : *hidden_.begin(),
          .xmax = next_xid_,
          .in_progress = {hidden_.begin(), hidden_.end()}};
}

inline block_ptr history::logs(std::uint32_t xid, const std::function<void(script&)>& changes) {
  position_ = (position_ / 10 + 1) * 10;
  next_xid_ = std::max(next_xid_, xid + 1);
  log.begin(xid, position_);
  changes(log);
  log.commit();
  return log.take();
}

inline void history::transaction(std::uint32_t xid, const std::function<void(script&)>& changes) {
  streams(logs(xid, changes));
}

inline void history::streams(block_ptr rows) {
  const auto done = it->stream(std::move(rows));
  ASSERT_TRUE(done) << done.error().detail;
  listens();
}

inline void history::opens(std::vector<std::uint32_t> ranges) {
  std::vector<range_ref> refs;
  for (const auto each : ranges)
    refs.push_back({0, each});
  it->open_wave(refs);
  listens();
}

inline verdict history::hands_over(std::uint32_t range, const snapshot& seen) {
  const auto out = it->hand_over({0, range}, seen, {end()});
  listens();
  return out;
}

inline void history::copies(std::uint32_t range, const std::vector<row>& rows) {
  script copy{shape};
  for (const auto& each : rows)
    copy.copy(each);
  it->rows({0, range}, copy.take());
  listens();
}

inline void history::ends(std::uint32_t range) {
  it->end_range({0, range});
  listens();
}

inline void history::loads(std::uint32_t range, const std::vector<row>& rows) {
  opens({range});
  ASSERT_EQ(hands_over(range), verdict::accepted);
  copies(range, rows);
  ends(range);
  writes();
}

inline verdict history::refetches(const std::string& key, const std::optional<row>& found,
                                  const snapshot& seen) {
  block_ptr block;
  if (found)
    block = script{shape}.copy(*found).take();
  const auto out = it->hand_over(0, encoded(key), seen, {end()}, block);
  listens();
  return out;
}

inline void history::sends() {
  for (;;) {
    auto next = it->next_batch(true);
    ASSERT_TRUE(next) << next.error().detail;
    if (!*next)
      return;
    reports_.push_back(at.write(**next));
  }
}

inline void history::answers() {
  for (const auto& each : std::exchange(reports_, {})) {
    const auto done = it->completed(each);
    ASSERT_TRUE(done) << done.error().detail;
  }
  listens();
}

inline void history::writes() {
  do {
    sends();
    answers();
    sends();
  } while (!reports_.empty());
}

inline void history::crashes() {
  at.lose_connection();
  // The source sends again what the checkpoint does not cover; the tests say what that is.
  starts();
}

inline const row* history::at_target(const std::string& id) {
  const auto& rows = at.tables["items"].rows;
  const auto found = rows.find(encoded(id));
  return found == rows.end() ? nullptr : &found->second;
}

inline bool history::is_listed(const std::string& id) {
  return at.tables["items"].list.contains(encoded(id));
}

inline bool history::heard(enum news::what what) {
  return std::ranges::find(news_, what, &news::kind) != news_.end();
}

inline void history::listens() {
  for (auto& each : it->take_news())
    news_.push_back(std::move(each));
}

} // namespace cdc::engine::test
