#include <chrono>
#include <fstream>
#include <thread>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "sinks/sqlite/sqlite_target.hpp"
#include "tests/contract/sink_contract.hpp"
#include "tests/contract/sink_contract_sqlite.hpp"

namespace cdc::contract {

namespace {

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class sqlite_failures : public ::testing::Test {
protected:
  error open_error(const std::filesystem::path& file) {
    const auto sink = std::move(*sinks::make_sink(sqlite_config(file)));
    const auto state = sink->open(orders_stream());
    EXPECT_FALSE(state);
    return state ? error{} : state.error();
  }

  std::unique_ptr<sinks::sink> start(const std::filesystem::path& file) {
    auto sink = std::move(*sinks::make_sink(sqlite_config(file)));
    const auto state = sink->open(orders_stream());
    EXPECT_TRUE(state) << state.error().detail;
    EXPECT_TRUE(sink->prepare({items}));
    return sink;
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "t.db"; }

  const target_table_ptr items = items_table();
  scratch_folder folder_;
  batches next_;
};

TEST_F(sqlite_failures, a_file_that_is_no_database_is_named) {
  std::ofstream(file()) << std::string(5000, 'x');
  const auto why = open_error(file());
  EXPECT_EQ(why.code, errc::target_misconfigured);
  EXPECT_SAYS(why.detail, file().string());
  EXPECT_SAYS(why.detail, "not a SQLite database");
}

TEST_F(sqlite_failures, a_folder_that_is_missing_is_named) {
  const auto why = open_error(folder_.path() / "none" / "t.db");
  EXPECT_EQ(why.code, errc::target_misconfigured);
  EXPECT_SAYS(why.detail, (folder_.path() / "none").string());
  EXPECT_EQ(open_error(folder_.path()).code, errc::target_misconfigured);
}

/// Runs `what` in a child without the rights of root, and gives what it returns.
template <class What>
int as_nobody(What what) {
  const auto child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0)
      ::_exit(100);
    ::_exit(what());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

TEST_F(sqlite_failures, a_file_that_may_not_be_written_is_named) {
  if (::getuid() != 0)
    GTEST_SKIP() << "needs root, to become somebody else";
  start(file()).reset();
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
  std::filesystem::permissions(file(), std::filesystem::perms(0444));
  std::filesystem::permissions(file().string() + ".lock", std::filesystem::perms(0666));
  const auto code = as_nobody([&] {
    const auto why = open_error(file());
    return why.detail.find("may not be written") == std::string::npos ? 102
                                                                      : static_cast<int>(why.code);
  });
  EXPECT_EQ(code, static_cast<int>(errc::target_misconfigured));
}

TEST_F(sqlite_failures, a_writer_that_holds_the_database_for_long_is_named_and_may_pass) {
  sinks::sqlite::sqlite_options options;
  options.path = file().string();
  options.database.busy_max = std::chrono::milliseconds(50);
  sinks::sqlite::sqlite_target target(options);
  ASSERT_TRUE(target.open(orders_stream()));
  ASSERT_TRUE(target.prepare({items}));
  reader other(file());
  other.execute("BEGIN IMMEDIATE");
  const auto report = target.write(*next_.upsert(items, {"1", "a", "b"}).commit());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::target_unavailable);
  EXPECT_SAYS(report.error().detail, "another program keeps the database locked");
}

TEST_F(sqlite_failures, a_cancellation_ends_the_wait_for_another_writer) {
  const auto sink = start(file());
  reader other(file());
  other.execute("BEGIN IMMEDIATE");
  std::promise<result<write_report>> done;
  const auto begin = std::chrono::steady_clock::now();
  sink->submit(next_.upsert(items, {"1", "a", "b"}).commit(),
               [&](result<write_report> report) { done.set_value(std::move(report)); });
  sink->cancel();
  const auto report = done.get_future().get();
  ASSERT_FALSE(report);
  // The wait ends as a busy database or as a cancellation; either way it ends now.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(sqlite_failures, a_cancellation_ends_a_long_statement) {
  const auto sink = start(file());
  const auto notes = make_table("notes", {{"a"}, {"b"}});
  ASSERT_TRUE(sink->prepare({notes}));
  for (int i = 0; i < 20'000; ++i)
    next_.insert(notes, {std::to_string(i), "x"});
  ASSERT_TRUE(contract::write(*sink, next_.commit()));
  // Each erase reads the whole table: minutes of work.
  for (int i = 0; i < 20'000; ++i)
    next_.erase(notes, {"none", "x"});
  std::promise<result<write_report>> done;
  sink->submit(next_.commit(),
               [&](result<write_report> report) { done.set_value(std::move(report)); });
  const auto begin = std::chrono::steady_clock::now();
  sink->cancel();
  const auto report = done.get_future().get();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(sqlite_failures, readers_are_never_blocked_and_see_whole_transactions) {
  const auto sink = start(file());
  reader other(file());
  ASSERT_TRUE(contract::write(*sink, next_.upsert(items, {"1", "a", "b"}).commit()));
  ASSERT_TRUE(contract::write(*sink, next_.upsert(items, {"2", "a", "b"}).piece()));
  EXPECT_EQ(other.one("SELECT count(*) FROM items"), "1");
  other.execute("BEGIN; SELECT count(*) FROM items");
  ASSERT_TRUE(contract::write(*sink, next_.upsert(items, {"3", "a", "b"}).durable().commit()));
  EXPECT_EQ(other.one("SELECT count(*) FROM items"), "1") << "its snapshot moved";
  other.execute("COMMIT");
  EXPECT_EQ(other.one("SELECT count(*) FROM items"), "3");
}

TEST_F(sqlite_failures, a_full_disk_is_named_and_writes_again_once_there_is_room) {
  // A file system of one MiB, in a name space of this thread's own.
  if (::unshare(CLONE_FS | CLONE_NEWNS) != 0)
    GTEST_SKIP() << "needs the right to mount";
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  ASSERT_EQ(::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=1m"), 0);
  {
    auto sink = start(file());
    ASSERT_TRUE(contract::write(*sink, next_.upsert(items, {"1", "a", "b"}).commit_at(100)));
    for (int i = 10; i < 1000; ++i)
      next_.upsert(items, {std::to_string(i), std::string(4000, 'x'), "b"});
    const auto report = contract::write(*sink, next_.commit_at(200));
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, errc::target_unavailable);
    EXPECT_SAYS(report.error().detail, "no space is left");
    sink.reset();
    sink = std::move(*sinks::make_sink(sqlite_config(file())));
    const auto state = sink->open(orders_stream());
    ASSERT_TRUE(state) << state.error().detail;
    EXPECT_EQ(state->resume, (checkpoint{{100}, {99}}));
    ASSERT_TRUE(sink->prepare({items}));
    ASSERT_TRUE(contract::write(*sink, next_.upsert(items, {"2", "a", "b"}).commit_at(200)));
    EXPECT_EQ(reader(file()).one("SELECT count(*) FROM items"), "2");
  }
  ::umount(folder_.path().c_str());
}

TEST_F(sqlite_failures, a_copy_of_the_file_carries_its_own_checkpoint) {
  auto sink = start(file());
  ASSERT_TRUE(contract::write(*sink, next_.upsert(items, {"1", "a", "b"}).commit_at(100)));
  sink.reset();
  std::filesystem::copy_file(file(), folder_.path() / "copy.db");
  sink = start(file());
  ASSERT_TRUE(contract::write(*sink, next_.upsert(items, {"2", "a", "b"}).commit_at(200)));
  const auto copy = std::move(*sinks::make_sink(sqlite_config(folder_.path() / "copy.db")));
  const auto state = copy->open(orders_stream());
  ASSERT_TRUE(state) << state.error().detail;
  EXPECT_EQ(state->resume, (checkpoint{{100}, {99}}));
}

TEST_F(sqlite_failures, two_paths_to_one_file_are_one_lock) {
  const auto sink = start(file());
  std::filesystem::create_symlink(file(), folder_.path() / "link.db");
  const auto why = open_error(folder_.path() / "link.db");
  EXPECT_EQ(why.code, errc::target_unavailable);
  EXPECT_SAYS(why.detail, "pid " + std::to_string(::getpid()));
}

} // namespace

} // namespace cdc::contract
