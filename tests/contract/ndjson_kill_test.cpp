#include "tests/contract/sink_contract_kill.hpp"
#include "tests/contract/sink_contract_ndjson.hpp"

namespace cdc::contract {

namespace {

/// The lines of transaction k, in order: which row each one is of.
std::vector<std::string> lines_of(std::uint64_t k) {
  std::vector<std::string> out{std::to_string(k), "0"};
  if (k > known_history::window)
    out.push_back(std::to_string(k - known_history::window));
  return out;
}

void expect_every_line_once(const std::vector<json_value>& lines, std::uint64_t k) {
  std::size_t at = 0;
  for (std::uint64_t i = 1; i <= k; ++i)
    for (const auto& id : lines_of(i)) {
      ASSERT_LT(at, lines.size()) << "transaction " << i;
      ASSERT_EQ(lines[at].find("key")->at("id"), id) << "line " << at + 1;
      ++at;
    }
  EXPECT_EQ(at, lines.size()) << "lines behind the checkpoint";
}

TEST(ndjson_kill, leaves_every_line_exactly_once) {
  const scratch_folder folder;
  ndjson_under_test target(folder.path());
  survive_kills(target, 12, 20261130, [&](std::uint64_t k) {
    expect_every_line_once(read_lines(folder.path() / "t.ndjson"), k);
  });
}

TEST(ndjson_kill, leaves_every_line_exactly_once_over_many_files) {
  const scratch_folder folder;
  ndjson_under_test target(folder.path(), 8000);
  survive_kills(target, 12, 77,
                [&](std::uint64_t k) { expect_every_line_once(target.lines(), k); });
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "t.ndjson.000003"));
}

} // namespace

} // namespace cdc::contract
