#include "sources/postgres/stream_core.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sources/postgres/lsn.hpp"
#include "tests/support/block_text.hpp"
#include "tests/support/pgoutput_messages.hpp"

namespace cdc::sources::postgres {
namespace {

using namespace std::chrono_literals;
using tests::bytes;
using tests::framed;
using tests::null_value;
using tests::unchanged;
using text_lines = std::vector<std::string>;

/// Table 7: orders(id int8 key, note text).
bytes orders(char identity = 'd', bool keyed = true) {
  return tests::relation(7, "public", "orders", identity,
                         {{.name = "id", .type_oid = 20, .is_identity_key = keyed},
                          {.name = "note", .is_identity_key = identity == 'f'}});
}
bytes tags() {
  return tests::relation(8, "public", "tags", 'd',
                         {{.name = "tag", .type_oid = 25, .is_identity_key = true}});
}

relation_ptr shape_of(std::uint32_t oid) {
  relation made;
  made.oid = oid;
  made.generation = oid;
  made.table = {"public", oid == 7 ? "orders" : "tags"};
  made.key = {0};
  if (oid == 7) {
    made.columns = {{.name = "id", .attribute = 1, .type_oid = 20, .what = kind::integer},
                    {.name = "note", .attribute = 2, .type_oid = 25, .what = kind::text}};
  } else {
    made.columns = {{.name = "tag", .attribute = 1, .type_oid = 25, .what = kind::text}};
  }
  made.columns[0].is_key = made.columns[0].is_identity_key = true;
  return std::make_shared<const relation>(made);
}

struct stream_core_test : testing::Test {
  clock::time_point now = clock::time_point{} + 1h;
  stream_core core{position{50}, {}};

  stream_core_test() { core.start(now); }

  /// Feeds messages that must be taken.
  void feed(std::initializer_list<bytes> messages) {
    for (const auto& message : messages) {
      const auto got = core.feed(message, now);
      ASSERT_TRUE(got) << got.error().detail;
      ASSERT_EQ(*got, stream_core::fed::taken);
    }
  }
  error failure_of(const bytes& message) {
    const auto got = core.feed(message, now);
    EXPECT_FALSE(got);
    return got ? error{} : got.error();
  }
  void know_tables() {
    core.provide(shape_of(7));
    core.provide(shape_of(8));
    feed({framed(orders()), framed(tags())});
  }
  text_lines taken() { return tests::lines(core.take_block()); }
};

// -- transactions ---------------------------------------------------------------------------------

TEST_F(stream_core_test, turns_a_transaction_into_a_block) {
  know_tables();
  feed({framed(tests::begin(100, 731)), framed(tests::insert(7, {"1", "a"})),
        framed(tests::insert(8, {"new"})), framed(tests::update(7, {"1", unchanged})),
        framed(tests::remove(8, 'K', {"old"})), framed(tests::commit(100, 108))});
  EXPECT_EQ(taken(),
            (text_lines{"begin 100 xid 731", "insert public.orders [1|a]",
                        "insert public.tags [new]", "update public.orders [1|absent] partial",
                        "delete public.tags key [old]", "commit 100 to 108 xid 731"}));
  EXPECT_EQ(core.passed(), position{108});
  EXPECT_EQ(core.take_block(), nullptr);
}

TEST_F(stream_core_test, lets_a_block_end_inside_a_transaction) {
  know_tables();
  feed({framed(tests::begin(100, 731)), framed(tests::insert(7, {"1", "a"}))});
  EXPECT_EQ(taken(), (text_lines{"begin 100 xid 731", "insert public.orders [1|a]"}));
  EXPECT_EQ(core.passed(), position{50});
  feed({framed(tests::insert(7, {"2", "b"})), framed(tests::commit(100, 108))});
  EXPECT_EQ(taken(), (text_lines{"insert public.orders [2|b]", "commit 100 to 108 xid 731"}));
}

TEST_F(stream_core_test, carries_the_time_of_a_commit) {
  know_tables();
  feed({framed(tests::begin(100, 731, 5)), framed(tests::insert(7, {"1", "a"})),
        framed(tests::commit(100, 108, 5))});
  const auto made = core.take_block();
  for (const auto& told : made->transactions)
    EXPECT_EQ(told.commit_time, 946'684'800'000'005);
}

TEST_F(stream_core_test, truncates_relations_in_the_order_of_the_statement) {
  know_tables();
  feed({framed(tests::begin(100, 731)), framed(tests::truncate({8, 7}, 3)),
        framed(tests::commit(100, 108))});
  EXPECT_EQ(taken(), (text_lines{"begin 100 xid 731", "truncate public.tags",
                                 "truncate public.orders", "commit 100 to 108 xid 731"}));
}

TEST_F(stream_core_test, leaves_nothing_of_a_transaction_without_rows_but_its_end) {
  feed({framed(tests::begin(100, 731)),
        framed(tests::logical_message(true, 90, "app", "transactional")),
        framed(tests::commit(100, 108))});
  EXPECT_EQ(taken(), text_lines{"advance 108"});
}

TEST_F(stream_core_test, loses_no_row_behind_a_transactional_message) {
  know_tables();
  feed({framed(tests::begin(100, 731)), framed(tests::logical_message(true, 90, "app", "x")),
        framed(tests::insert(7, {"1", "a"}))});
  EXPECT_EQ(core.passed(), position{50});
  feed({framed(tests::commit(100, 108))});
  EXPECT_EQ(taken(), (text_lines{"begin 100 xid 731", "insert public.orders [1|a]",
                                 "commit 100 to 108 xid 731"}));
}

TEST_F(stream_core_test, passes_over_origins_and_types) {
  know_tables();
  feed({framed(tests::begin(100, 731)), framed(tests::origin(90, "elsewhere")),
        framed(tests::type(16500, "public", "mood")), framed(tests::insert(7, {"1", "a"})),
        framed(tests::commit(100, 108))});
  EXPECT_EQ(taken().size(), 3u);
}

TEST_F(stream_core_test, says_when_a_block_is_full) {
  stream_core small{position{50}, {.limits = {.events = 3, .bytes = 1 << 20}}};
  small.start(now);
  small.provide(shape_of(7));
  for (const auto& message : {orders(), tests::begin(100, 731), tests::insert(7, {"1", "a"})})
    ASSERT_TRUE(small.feed(framed(message), now));
  EXPECT_FALSE(small.full());
  ASSERT_TRUE(small.feed(framed(tests::insert(7, {"2", "a"})), now));
  EXPECT_TRUE(small.full());
  (void)small.take_block();
  EXPECT_FALSE(small.full());
}

// -- what comes out of place ----------------------------------------------------------------------

TEST_F(stream_core_test, refuses_rows_and_commits_outside_a_transaction) {
  know_tables();
  EXPECT_EQ(failure_of(framed(tests::insert(7, {"1", "a"}))),
            (error{errc::malformed_message, "pgoutput insert: came outside a transaction"}));
  EXPECT_EQ(failure_of(framed(tests::truncate({7}))).code, errc::malformed_message);
  EXPECT_EQ(failure_of(framed(tests::commit(100, 108))).code, errc::malformed_message);
  EXPECT_TRUE(core.empty());
}

TEST_F(stream_core_test, refuses_a_begin_inside_a_transaction) {
  feed({framed(tests::begin(100, 731))});
  EXPECT_EQ(failure_of(framed(tests::begin(200, 732))),
            (error{errc::malformed_message, "pgoutput begin: came inside a transaction"}));
}

TEST_F(stream_core_test, refuses_a_commit_of_another_transaction) {
  feed({framed(tests::begin(100, 731))});
  EXPECT_EQ(failure_of(framed(tests::commit(101, 108))),
            (error{errc::malformed_message,
                   "pgoutput commit: 0/65 to 0/6C ends a transaction begun for 0/64"}));
  EXPECT_EQ(failure_of(framed(tests::commit(100, 100))).code, errc::malformed_message);
}

TEST_F(stream_core_test, refuses_rows_of_relations_that_were_never_described) {
  feed({framed(tests::begin(100, 731))});
  EXPECT_EQ(failure_of(framed(tests::insert(9, {"1"}))),
            (error{errc::malformed_message, "pgoutput insert: relation 9 was never described"}));
  EXPECT_EQ(failure_of(framed(tests::truncate({9}))).code, errc::malformed_message);
}

TEST_F(stream_core_test, refuses_messages_of_later_protocol_versions) {
  EXPECT_EQ(failure_of(framed(tests::message_writer{'S'}.u32(1))),
            (error{errc::malformed_message,
                   "pgoutput: message of 5 bytes and type 0x53 is none of protocol version 1"}));
  EXPECT_EQ(failure_of(framed({})).code, errc::malformed_message);
}

TEST_F(stream_core_test, refuses_a_log_too_long_for_versions) {
  const auto far = std::uint64_t{1} << 51;
  EXPECT_EQ(failure_of(framed(tests::begin(far, 1))).code, errc::source_misconfigured);
  EXPECT_EQ(failure_of(tests::keepalive(far)).code, errc::source_misconfigured);
  EXPECT_EQ(failure_of(framed(tests::logical_message(false, far, "", ""))).code,
            errc::source_misconfigured);
  feed({framed(tests::begin(far - 1, 1))});
  EXPECT_EQ(failure_of(framed(tests::commit(far - 1, far))).code, errc::source_misconfigured);
}

// -- shapes ---------------------------------------------------------------------------------------

TEST_F(stream_core_test, holds_at_the_first_row_of_a_shape_it_has_to_ask_for) {
  feed({framed(orders()), framed(tests::begin(100, 731))});
  EXPECT_FALSE(core.unknown_relation());
  const auto row = framed(tests::insert(7, {"1", "a"}));
  EXPECT_EQ(core.feed(row, now), stream_core::fed::held);
  EXPECT_TRUE(core.holding());
  EXPECT_EQ(core.unknown_relation(), 7u);
  EXPECT_EQ(core.feed(row, now), stream_core::fed::held);
  EXPECT_TRUE(core.empty());

  core.provide(shape_of(7));
  EXPECT_FALSE(core.holding());
  feed({row, framed(tests::commit(100, 108))});
  EXPECT_EQ(taken(), (text_lines{"begin 100 xid 731", "insert public.orders [1|a]",
                                 "commit 100 to 108 xid 731"}));
}

TEST_F(stream_core_test, holds_a_truncate_until_all_its_relations_are_known) {
  core.provide(shape_of(7));
  feed({framed(orders()), framed(tags()), framed(tests::begin(100, 731))});
  const auto message = framed(tests::truncate({7, 8}));
  EXPECT_EQ(core.feed(message, now), stream_core::fed::held);
  EXPECT_TRUE(core.empty());
  core.provide(shape_of(8));
  feed({message});
  EXPECT_EQ(taken(),
            (text_lines{"begin 100 xid 731", "truncate public.orders", "truncate public.tags"}));
}

TEST_F(stream_core_test, goes_on_holding_when_another_shape_is_provided) {
  feed({framed(orders()), framed(tags()), framed(tests::begin(100, 731))});
  EXPECT_EQ(core.feed(framed(tests::insert(7, {"1", "a"})), now), stream_core::fed::held);
  core.provide(shape_of(8));
  EXPECT_TRUE(core.holding());
}

TEST_F(stream_core_test, takes_no_silence_amiss_while_it_holds) {
  feed({framed(orders()), framed(tests::begin(100, 731))});
  EXPECT_EQ(core.feed(framed(tests::insert(7, {"1", "a"})), now), stream_core::fed::held);
  for (auto after = 1s; after < 60s; after += 1s)
    EXPECT_TRUE(core.tick(now + after, true)) << after.count();
}

TEST_F(stream_core_test, reads_the_rows_behind_a_change_of_shape_by_the_new_one) {
  know_tables();
  feed({framed(tests::begin(100, 731)), framed(tests::insert(7, {"1", "a"}))});
  const auto wider = tests::relation(7, "public", "orders", 'd',
                                     {{.name = "id", .type_oid = 20, .is_identity_key = true},
                                      {.name = "note"},
                                      {.name = "added", .type_oid = 23}});
  feed({framed(wider)});
  const auto row = framed(tests::insert(7, {"2", "b", "3"}));
  EXPECT_EQ(core.feed(row, now), stream_core::fed::held);
  auto now_has = *shape_of(7);
  now_has.generation = 20;
  now_has.columns.push_back({.name = "added", .attribute = 3, .type_oid = 23});
  core.provide(std::make_shared<const relation>(now_has));
  feed({row});
  EXPECT_EQ(taken(), (text_lines{"begin 100 xid 731", "insert public.orders [1|a]",
                                 "insert public.orders [2|b|3]"}));
}

TEST_F(stream_core_test, gives_the_rows_of_a_renamed_table_its_new_name) {
  know_tables();
  feed({framed(tests::relation(
            7, "public", "moved", 'd',
            {{.name = "id", .type_oid = 20, .is_identity_key = true}, {.name = "note"}})),
        framed(tests::begin(100, 731))});
  const auto row = framed(tests::insert(7, {"2", "b"}));
  EXPECT_EQ(core.feed(row, now), stream_core::fed::held);
  core.provide(shape_of(7));
  feed({row});
  EXPECT_EQ(taken(), (text_lines{"begin 100 xid 731", "insert public.moved [2|b]"}));
}

TEST_F(stream_core_test, refuses_updates_and_deletes_that_name_no_row_and_says_the_remedy) {
  for (const auto identity : {'n', 'd'}) {
    stream_core lost{position{50}, {}};
    lost.start(now);
    for (const auto& message : {orders(identity, false), tests::begin(100, 731)})
      ASSERT_TRUE(lost.feed(framed(message), now));
    ASSERT_EQ(lost.feed(framed(tests::insert(7, {"1", "a"})), now), stream_core::fed::held);
    lost.provide(shape_of(7));
    EXPECT_EQ(lost.feed(framed(tests::insert(7, {"1", "a"})), now), stream_core::fed::taken);

    const auto got = lost.feed(framed(tests::update(7, {"1", "a"})), now);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, errc::identity_missing);
    EXPECT_NE(got.error().detail.find("ALTER TABLE \"public\".\"orders\""), std::string::npos);
    EXPECT_FALSE(lost.feed(framed(tests::remove(7, 'K', {"1", null_value})), now));
  }
}

TEST_F(stream_core_test, completes_an_update_from_the_old_row_under_a_full_identity) {
  auto full = *shape_of(7);
  full.identity = replica_identity::full;
  full.columns[1].is_identity_key = true;
  core.provide(std::make_shared<const relation>(full));
  feed({framed(orders('f')), framed(tests::begin(100, 731)),
        framed(tests::update(7, 'O', {"1", "large"}, {"1", unchanged}))});
  EXPECT_EQ(taken().at(1), "update public.orders full [1|large] -> [1|large]");
}

// -- positions ------------------------------------------------------------------------------------

TEST_F(stream_core_test, advances_on_a_keepalive_outside_a_transaction) {
  feed({tests::keepalive(300)});
  EXPECT_EQ(taken(), text_lines{"advance 300"});
  EXPECT_EQ(core.passed(), position{300});
}

TEST_F(stream_core_test, does_not_advance_on_a_keepalive_inside_a_transaction) {
  feed({framed(tests::begin(100, 731)), tests::keepalive(300)});
  EXPECT_TRUE(core.empty());
  EXPECT_EQ(core.passed(), position{50});
}

TEST_F(stream_core_test, does_not_go_back_on_an_old_keepalive) {
  feed({tests::keepalive(40), tests::keepalive(50)});
  EXPECT_TRUE(core.empty());
}

TEST_F(stream_core_test, passes_positions_without_rows_on_only_so_often) {
  feed({tests::keepalive(300)});
  EXPECT_EQ(taken(), text_lines{"advance 300"});
  now += 10ms;
  feed({tests::keepalive(310), tests::keepalive(320)});
  EXPECT_TRUE(core.empty());
  EXPECT_EQ(core.deadline(), now + 190ms);
  now += 190ms;
  ASSERT_TRUE(core.tick(now, true));
  EXPECT_EQ(taken(), text_lines{"advance 320"});
}

TEST_F(stream_core_test, says_a_position_that_waits_before_the_next_transaction) {
  know_tables();
  feed({tests::keepalive(300), tests::keepalive(310)});
  EXPECT_EQ(taken(), text_lines{"advance 300"});
  feed({framed(tests::begin(400, 731)), framed(tests::insert(7, {"1", "a"})),
        framed(tests::commit(400, 408))});
  EXPECT_EQ(taken(), (text_lines{"advance 310", "begin 400 xid 731", "insert public.orders [1|a]",
                                 "commit 400 to 408 xid 731"}));
}

TEST_F(stream_core_test, says_only_the_last_of_positions_in_a_row) {
  feed({framed(tests::logical_message(false, 60, "", "")),
        framed(tests::logical_message(false, 70, "", "")),
        framed(tests::logical_message(false, 65, "", ""))});
  EXPECT_EQ(taken(), text_lines{"advance 70"});
  EXPECT_EQ(core.passed(), position{70});
}

TEST_F(stream_core_test, advances_at_once_on_a_message_outside_a_transaction) {
  feed({tests::keepalive(60)});
  (void)taken();
  feed({framed(tests::logical_message(false, 70, "cdc", ""))});
  EXPECT_EQ(taken(), text_lines{"advance 70"});
}

TEST_F(stream_core_test, answers_a_question_for_the_position_at_once_even_with_the_old_one) {
  feed({tests::keepalive(60)});
  (void)taken();
  core.ask_for_position();
  const auto asked = core.tick(now, true);
  ASSERT_TRUE(asked && *asked);
  EXPECT_TRUE((*asked)->wants_reply);
  feed({tests::keepalive(60)});
  EXPECT_EQ(taken(), text_lines{"advance 60"});
  feed({tests::keepalive(60)});
  EXPECT_TRUE(core.empty());
}

TEST_F(stream_core_test, asks_again_when_the_answer_came_inside_a_transaction) {
  know_tables();
  core.ask_for_position();
  ASSERT_TRUE(core.tick(now, true).value()->wants_reply);
  feed({framed(tests::begin(100, 731)), tests::keepalive(300), framed(tests::insert(7, {"1", "a"})),
        framed(tests::commit(100, 108))});
  ASSERT_TRUE(core.tick(now, true).value());
  (void)taken();
  feed({tests::keepalive(300)});
  EXPECT_EQ(taken(), text_lines{"advance 300"});
}

TEST_F(stream_core_test, does_not_take_a_commit_for_the_answer) {
  know_tables();
  core.ask_for_position();
  ASSERT_TRUE(core.tick(now, true).value()->wants_reply);
  feed({framed(tests::begin(100, 731)), framed(tests::insert(7, {"1", "a"})),
        framed(tests::commit(100, 108))});
  EXPECT_FALSE(core.tick(now, true).value());
  (void)taken();
  feed({tests::keepalive(108)});
  EXPECT_EQ(taken(), text_lines{"advance 108"});
}

TEST_F(stream_core_test, takes_no_position_from_a_message_that_belongs_to_a_transaction) {
  feed({framed(tests::logical_message(true, 70, "cdc", ""))});
  EXPECT_TRUE(core.empty());
}

TEST_F(stream_core_test, reports_only_what_was_confirmed) {
  feed({tests::keepalive(300)});
  (void)taken();
  now += 1s;
  EXPECT_EQ(core.tick(now, true).value(), (status_update{.durable = {50}}));
  core.confirm({300});
  now += 1s;
  EXPECT_EQ(core.tick(now, false).value(), (status_update{.durable = {300}}));
}

TEST_F(stream_core_test, confirms_a_caught_up_position_nobody_asked_it_to_confirm) {
  feed({tests::keepalive(300, false)});
  (void)taken();
  core.confirm({300});
  now += 1s;
  EXPECT_EQ(core.tick(now, true).value()->durable, position{300});
}

TEST_F(stream_core_test, answers_a_server_that_asks_at_once) {
  feed({tests::keepalive(300, true)});
  EXPECT_EQ(core.tick(now, true).value(), (status_update{.durable = {50}}));
}

TEST_F(stream_core_test, refuses_a_confirmation_of_what_is_still_in_its_block) {
  feed({tests::keepalive(300)});
  core.confirm({300});
  const auto got = core.tick(now, true);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, errc::invariant_broken);
}

TEST_F(stream_core_test, refuses_a_confirmation_of_an_open_transaction) {
  know_tables();
  feed({framed(tests::begin(100, 731)), framed(tests::insert(7, {"1", "a"}))});
  (void)taken();
  core.confirm({100});
  EXPECT_FALSE(core.tick(now, true));
}

// -- pulled ---------------------------------------------------------------------------------------

TEST_F(stream_core_test, takes_messages_without_a_frame_as_those_with_one) {
  know_tables();
  const std::vector<bytes> transaction{tests::begin(100, 7), tests::insert(7, {"1", "a"}),
                                       tests::commit(100, 108)};
  for (const auto& message : transaction)
    feed({framed(message)});
  const auto streamed = taken();
  stream_core other{position{50}, {}};
  other.provide(shape_of(7));
  ASSERT_TRUE(other.feed_data(orders(), now));
  for (const auto& message : transaction)
    ASSERT_TRUE(other.feed_data(message, now));
  EXPECT_EQ(tests::lines(other.take_block()), streamed);
  EXPECT_EQ(streamed.size(), 3u);
}

TEST_F(stream_core_test, passes_on_what_was_pulled_and_answers_a_question_at_the_logs_end) {
  ASSERT_TRUE(core.fed_until(position{60}, false, now));
  EXPECT_EQ(taken(), text_lines{"advance 60"});
  ASSERT_TRUE(core.fed_until(position{70}, false, now));
  EXPECT_EQ(taken(), text_lines{}) << "not every position is worth a write";
  core.ask_for_position();
  EXPECT_TRUE(core.asks());
  ASSERT_TRUE(core.fed_until(position{80}, false, now));
  EXPECT_TRUE(core.asks()) << "the log went on";
  ASSERT_TRUE(core.fed_until(position{80}, true, now));
  EXPECT_FALSE(core.asks());
  EXPECT_EQ(taken(), text_lines{"advance 80"});
}

TEST_F(stream_core_test, passes_on_a_pulled_position_when_it_is_due) {
  ASSERT_TRUE(core.fed_until(position{60}, false, now));
  (void)taken();
  ASSERT_TRUE(core.fed_until(position{70}, false, now));
  const auto due = core.advance_due();
  core.pass_on(due - 1ms);
  EXPECT_TRUE(core.empty());
  core.pass_on(due);
  EXPECT_EQ(taken(), text_lines{"advance 70"});
  EXPECT_EQ(core.advance_due(), clock::time_point::max());
}

TEST_F(stream_core_test, refuses_a_position_beyond_its_range) {
  EXPECT_FALSE(core.fed_until(position_limit, false, now));
}

TEST_F(stream_core_test, says_again_only_what_was_not_reported_otherwise) {
  ASSERT_TRUE(core.fed_until(position{60}, false, now));
  (void)taken();
  core.confirm(position{60});
  ASSERT_TRUE(core.last_words());
  core.reported(position{60});
  EXPECT_FALSE(core.last_words());
}

} // namespace
} // namespace cdc::sources::postgres
