#include "tests/contract/sink_contract_kill.hpp"
#include "tests/contract/sink_contract_sqlite.hpp"

namespace cdc::contract {

namespace {

TEST(sqlite_kill, leaves_a_whole_prefix_of_the_history) {
  const scratch_folder folder;
  sqlite_under_test target(folder.path());
  survive_kills(target, 12, 20261130, [&](std::uint64_t) {
    EXPECT_EQ(reader(folder.path() / "t.db").one("PRAGMA quick_check"), "ok");
  });
}

} // namespace

} // namespace cdc::contract
