#include "messages/error.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace cdc {
namespace {

constexpr auto last = static_cast<int>(errc::invariant_broken);

TEST(error, has_a_name_of_its_own_for_every_code) {
  std::set<std::string_view> names;
  for (int i = 1; i <= last; ++i)
    names.insert(to_string(static_cast<errc>(i)));

  EXPECT_EQ(names.size(), static_cast<std::size_t>(last));
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(static_cast<errc>(last + 1)), "unknown");
}

TEST(error, restarts_what_may_heal_and_halts_for_what_a_person_must_change) {
  EXPECT_EQ(reaction_to(errc::target_unavailable), reaction::retry);
  EXPECT_EQ(reaction_to(errc::source_unavailable), reaction::restart);
  EXPECT_EQ(reaction_to(errc::slot_in_use), reaction::restart);
  EXPECT_EQ(reaction_to(errc::malformed_message), reaction::restart);
  EXPECT_EQ(reaction_to(errc::row_refused), reaction::quarantine);
  for (const auto code :
       {errc::invalid_config, errc::source_misconfigured, errc::permission_denied,
        errc::position_lost, errc::foreign_stream, errc::identity_missing,
        errc::target_misconfigured, errc::target_stale, errc::fenced, errc::invariant_broken})
    EXPECT_EQ(reaction_to(code), reaction::halt) << to_string(code);
}

TEST(error, halts_for_a_code_it_does_not_know) {
  EXPECT_EQ(reaction_to(static_cast<errc>(last + 1)), reaction::halt);
}

TEST(error, carries_a_sentence) {
  const result<int> failed = fail(errc::position_lost, "slot {} is at {}", "main", 7);

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), (error{errc::position_lost, "slot main is at 7"}));
}

} // namespace
} // namespace cdc
