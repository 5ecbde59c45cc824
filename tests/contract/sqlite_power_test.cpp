#include <atomic>
#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <unistd.h>

#include "tests/contract/sink_contract.hpp"
#include "tests/contract/sink_contract_sqlite.hpp"

// Stands before the C library's, so that a test can see whether the disk was really asked.
namespace {
std::atomic<int> syncs{0};
} // namespace

extern "C" int fdatasync(int descriptor) {
  ++syncs;
  static const auto real = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fdatasync"));
  return real(descriptor);
}

namespace cdc::contract {

namespace {

std::string content(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

void write_content(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

/// Position p = 10 k holds rows 1 … k, and a row 0 that says k.
class sqlite_power : public ::testing::Test {
protected:
  sqlite_power() {
    sink_ = std::move(*sinks::make_sink(sqlite_config(file())));
    EXPECT_TRUE(sink_->open(orders_stream()));
    EXPECT_TRUE(sink_->prepare({items_}));
  }

  write_report write_one(bool durable) {
    const auto k = std::to_string(++written_);
    next_.upsert(items_, {k, "row", std::string(1500, 'x')}).upsert(items_, {"0", k, nullptr});
    if (durable)
      next_.durable();
    const auto report = contract::write(*sink_, next_.commit());
    EXPECT_TRUE(report) << report.error().detail;
    return report ? *report : write_report{};
  }

  /// What a machine finds that lost power when the files were `database` and `wal`.
  void expect_at_least(std::uint64_t durable, const std::string& database, const std::string& wal,
                       const std::string& what) {
    const scratch_folder lost;
    const auto copy = lost.path() / "t.db";
    write_content(copy, database);
    write_content(copy.string() + "-wal", wal);
    const auto sink = std::move(*sinks::make_sink(sqlite_config(copy)));
    const auto state = sink->open(orders_stream());
    ASSERT_TRUE(state) << what << ": " << state.error().detail;
    ASSERT_TRUE(state->resume) << what;
    EXPECT_GE(state->resume->resume.token, durable) << what;
    const auto k = std::to_string(state->resume->resume.token / 10);
    reader rows(copy);
    EXPECT_EQ(rows.one("SELECT a FROM items WHERE id = 0"), k) << what;
    EXPECT_EQ(rows.one("SELECT count(*) FROM items WHERE id > 0"), k) << what;
    EXPECT_EQ(rows.one("PRAGMA integrity_check"), "ok") << what;
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "t.db"; }
  [[nodiscard]] std::filesystem::path wal() const { return file().string() + "-wal"; }

  const target_table_ptr items_ = items_table();
  scratch_folder folder_;
  batches next_;
  std::unique_ptr<sinks::sink> sink_;
  std::uint64_t written_ = 0;
};

TEST_F(sqlite_power, a_durable_batch_asks_the_disk_and_no_other_does) {
  write_one(false);
  const int before = syncs;
  for (int i = 0; i < 5; ++i)
    write_one(false);
  EXPECT_EQ(syncs, before);
  write_one(true);
  EXPECT_GT(syncs, before);
  const int after = syncs;
  write_one(false);
  EXPECT_EQ(syncs, after) << "the connection stayed in its slow mode";
}

TEST_F(sqlite_power, a_durable_batch_with_nothing_new_asks_the_disk_too) {
  write_one(false);
  const int before = syncs;
  const auto report = contract::write(*sink_, next_.durable().take());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->durable, position{10});
  EXPECT_GT(syncs, before);
}

TEST_F(sqlite_power, a_transaction_that_was_open_is_synced_when_its_last_piece_asks) {
  EXPECT_TRUE(contract::write(*sink_, next_.upsert(items_, {"7", "a", "b"}).piece()));
  const int before = syncs;
  EXPECT_TRUE(contract::write(*sink_, next_.upsert(items_, {"8", "a", "b"}).durable().commit()));
  EXPECT_GT(syncs, before);
}

TEST_F(sqlite_power, cases_V005_nothing_the_source_was_told_is_missing_after_any_cut_of_the_log) {
  int cuts = 0;
  for (int round = 0; round < 2; ++round) {
    const auto durable = write_one(true).durable;
    ASSERT_TRUE(durable);
    const auto synced = content(wal()).size();
    for (int i = 0; i < 3; ++i)
      write_one(false);
    const auto database = content(file());
    const auto log = content(wal());
    ASSERT_GT(log.size(), synced);
    for (auto cut = synced; cut <= log.size(); cut += 2741) { // not whole pages: torn ones too
      const auto what = fmt::format("cut at {} of {}", cut, log.size());
      expect_at_least(durable->token, database, log.substr(0, cut), what);
      // The file had grown already, but its new bytes had not arrived.
      expect_at_least(durable->token, database,
                      log.substr(0, cut) + std::string(log.size() - cut, '\0'), what + ", zeros");
      ++cuts;
    }
  }
  EXPECT_GT(cuts, 10);
}

} // namespace

} // namespace cdc::contract
