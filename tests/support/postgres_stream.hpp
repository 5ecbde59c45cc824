#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/log_stream.hpp"
#include "sources/postgres/lsn.hpp"
#include "tests/support/block_text.hpp"
#include "tests/support/postgres_database.hpp"

namespace cdc::test {

/// Drives a stream as its owner does, until a test has seen enough, and asks the catalogue on a
/// connection of its own for what the stream does not know.
class stream_reader {
public:
  using clock = sources::clock;
  using next = sources::log_stream::next;

  stream_reader(postgres_database& db, std::unique_ptr<sources::log_stream> reads,
                std::vector<std::string> publications)
      : catalogue_on_(db.plain_session()), catalogue_(catalogue_on_, std::move(publications)),
        stream_(std::move(reads)) {
    // nop
  }

  sources::log_stream& operator*() noexcept { return *stream_; }
  sources::log_stream* operator->() noexcept { return stream_.get(); }

  /// Runs until `enough` holds after a block or a wake-up; false when it takes too long.
  bool run_until(const std::function<bool()>& enough,
                 std::chrono::milliseconds within = std::chrono::seconds{20}) {
    const auto until = clock::now() + within;
    while (!failed && !enough()) {
      if (clock::now() >= until)
        return false;
      step(until);
    }
    return enough();
  }

  /// Runs for a while, come what may.
  void run_for(std::chrono::milliseconds time) {
    (void)run_until([] { return false; }, time);
  }

  /// Until the commit whose end is at or behind `at` has come, or a position there.
  bool run_until(position at) {
    return run_until([this, at] { return passed >= at; });
  }

  /// What came since the last call, without the positions: `begin`, `commit`, rows.
  std::vector<std::string> taken() {
    std::vector<std::string> out;
    for (auto& line : std::exchange(lines, {})) {
      if (line.starts_with("begin ") || line.starts_with("commit "))
        out.push_back(line.substr(0, line.find(' ')));
      else if (!line.starts_with("advance "))
        out.push_back(std::move(line));
    }
    return out;
  }

  bool may_read = true;
  bool keeps_lines = true;
  std::vector<std::string> lines;
  std::vector<block_ptr> blocks; ///< Filled when keeps_blocks.
  bool keeps_blocks = false;
  std::size_t rows = 0;
  std::size_t looked_up = 0;  ///< Shapes asked for.
  bool has_caught_up = false; ///< The log was read from a copy of the slot.
  position passed;
  std::optional<error> failed;

private:
  void step(clock::time_point until) {
    const auto did = stream_->advance(clock::now(), may_read);
    if (!did) {
      failed = did.error();
      return;
    }
    has_caught_up |= stream_->reading().how == sources::log_reading::mode::catch_up;
    if (const auto oid = stream_->unknown_relation()) {
      ++looked_up;
      stream_->provide(catalogue_.describe(*oid).value());
      return;
    }
    switch (*did) {
      case next::ship:
        return take(stream_->take_block());
      case next::nap:
        return std::this_thread::sleep_for(std::chrono::microseconds{200});
      case next::poll:
        return wait(std::min({until, stream_->deadline(), clock::now() + std::chrono::seconds{1}}));
    }
  }

  void wait(clock::time_point until) {
    pollfd on{.fd = stream_->socket(), .events = stream_->wants_events(may_read), .revents = 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    (void)::poll(&on, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
  }

  void take(block_ptr made) {
    ASSERT_TRUE(made);
    if (keeps_lines) {
      auto more = tests::lines(*made);
      lines.insert(lines.end(), more.begin(), more.end());
    }
    for (const auto& at : made->events) {
      if (at.what == operation::commit || at.what == operation::advance)
        passed = std::max(passed, made->transactions[at.first].end);
      else if (at.what != operation::begin)
        ++rows;
    }
    if (keeps_blocks)
      blocks.push_back(std::move(made));
  }

  sources::postgres::connection catalogue_on_;
  sources::postgres::catalogue catalogue_;
  std::unique_ptr<sources::log_stream> stream_;
};

/// A database of a test's own with a publication of all its tables, and a slot that begins behind
/// the tables it is prepared with.
class published_log : public testing::Test {
protected:
  explicit published_log(std::string publication) : publication_(std::move(publication)) {}

  void SetUp() override {
    CDC_NEEDS_POSTGRES();
    db.emplace();
  }

  /// Creates tables, then publication and slot: the stream begins behind them.
  void prepare(const std::string& tables) {
    db->sql(tables);
    db->sql("CREATE PUBLICATION \"" + publication_ +
            "\" FOR ALL TABLES WITH (publish_via_partition_root = true)");
    resume = at_answer("SELECT lsn FROM pg_create_logical_replication_slot('" + db->name() +
                       "', 'pgoutput')");
  }

  /// A place behind everything that was committed until now.
  position mark() { return at_answer("SELECT pg_logical_emit_message(false, 'until', '')"); }
  position log_end() { return at_answer("SELECT pg_current_wal_lsn()"); }
  position confirmed() {
    return at_answer("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '" +
                     db->name() + "'");
  }

  bool await(const std::string& question) {
    for (int i = 0; i < 1000; ++i) {
      if (db->value(question) == "t")
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return false;
  }

  std::optional<postgres_database> db;
  position resume;

private:
  position at_answer(const std::string& question) {
    return sources::postgres::parse_lsn(db->value(question)).value();
  }

  std::string publication_;
};

} // namespace cdc::test
