#include <gtest/gtest.h>

#include "sources/mysql/setup.hpp"

namespace cdc::sources::mysql {

namespace {

const auto at = coordinates::starting_in("bin.000003").value();
const log_standing log{
    .end = {"bin.000003", 500}, .files = {"bin.000002", "bin.000003"}, .gtids = {}};

std::string refusal(std::string_view file, std::uint64_t offset) {
  const auto good = check_resume(at.token(file, offset).value(), at, log);
  return good ? std::string{} : good.error().detail;
}

} // namespace

TEST(resume, goes_on_in_a_log_that_has_it) {
  EXPECT_EQ(refusal("bin.000002", 4), "");
  EXPECT_EQ(refusal("bin.000003", 500), "");
}

TEST(resume, is_refused_by_a_log_that_was_purged_or_reset) {
  EXPECT_NE(refusal("bin.000001", 4).find("purged"), std::string::npos);
  EXPECT_NE(refusal("bin.000003", 501).find("was reset"), std::string::npos);
}

} // namespace cdc::sources::mysql
