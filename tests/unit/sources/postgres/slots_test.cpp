#include "sources/postgres/slots.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::postgres {

namespace {

using xids = std::vector<transaction_id>;

slot_state slot() {
  slot_state out;
  out.name = "s";
  out.plugin = "pgoutput";
  out.database = "shop";
  out.pressure.status = log_pressure::state::reserved;
  return out;
}

TEST(hidden_commits, are_none_when_others_see_all_that_the_slot_saw) {
  EXPECT_EQ(hidden_commits({10, 12, {}}, {12, 12, {}}), xids{});
  EXPECT_EQ(hidden_commits({10, 15, {10, 12}}, {10, 15, {10, 12}}), xids{});
}

TEST(hidden_commits, are_those_that_others_list_as_running) {
  EXPECT_EQ(hidden_commits({10, 15, {12}}, {11, 16, {11, 12, 14, 15}}), (xids{11, 14}));
}

TEST(hidden_commits, count_what_lies_at_or_above_the_others_end) {
  // One hangs at its commit and no later transaction has ended: it is in nobody's list.
  EXPECT_EQ(hidden_commits({725, 726, {}}, {725, 725, {}}), xids{725});
  EXPECT_EQ(hidden_commits({725, 728, {726}}, {725, 725, {}}), (xids{725, 727}));
}

TEST(hidden_commits, are_named_by_their_lower_half) {
  const auto epoch = std::uint64_t{3} << 32;
  EXPECT_EQ(hidden_commits({epoch + 5, epoch + 7, {}}, {epoch + 5, epoch + 5, {}}), (xids{5, 6}));
}

TEST(hidden_commits, leave_out_what_began_after_the_slots_start) {
  EXPECT_EQ(hidden_commits({10, 12, {}}, {11, 20, {13, 19}}), xids{});
}

TEST(slot_check, lets_a_fitting_slot_pass) {
  EXPECT_TRUE(check_slot(slot(), "shop"));
}

TEST(slot_check, names_what_does_not_fit) {
  const auto code = [](auto change) {
    auto changed = slot();
    change(changed);
    return check_slot(changed, "shop").error().code;
  };

  EXPECT_EQ(code([](slot_state& s) { s.plugin = "wal2json"; }), errc::foreign_stream);
  EXPECT_EQ(code([](slot_state& s) { s.plugin.clear(); }), errc::foreign_stream);
  EXPECT_EQ(code([](slot_state& s) { s.database = "other"; }), errc::foreign_stream);
  EXPECT_EQ(code([](slot_state& s) { s.two_phase = true; }), errc::foreign_stream);
  EXPECT_EQ(code([](slot_state& s) { s.pressure.status = log_pressure::state::lost; }),
            errc::position_lost);
  EXPECT_EQ(code([](slot_state& s) { s.active_pid = 7; }), errc::slot_in_use);
}

TEST(slot_wait, names_who_is_in_the_way_and_how_to_end_it) {
  slot_wait wait{.waited = std::chrono::seconds{12}, .behind = {}};
  blocker session;
  session.pid = 42;
  session.xid = 725;
  session.open_for = std::chrono::seconds{3600};
  session.who = "ann psql, idle in transaction";
  blocker prepared;
  prepared.prepared = "it's";
  prepared.xid = 726;
  wait.behind = {session, prepared};

  EXPECT_EQ(
      to_string(wait),
      "the slot's creation has been waiting for 12 s for pid 42 (xid 725, open for 3600 s, ann "
      "psql, idle in transaction; to end it: SELECT pg_terminate_backend(42)) and prepared "
      "transaction 'it''s' (xid 726, open for 0 s; COMMIT or ROLLBACK PREPARED ends it)");
}

} // namespace

} // namespace cdc::sources::postgres
