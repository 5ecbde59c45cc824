#include "sources/postgres/pgoutput_rows.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/block_text.hpp"
#include "tests/support/pgoutput_messages.hpp"

namespace cdc::sources::postgres {
namespace {

using tests::bytes;
using tests::lines;
using tests::null_value;
using tests::unchanged;

/// Three columns; the first identity columns are the replica identity.
relation_ptr shape_of(std::size_t identity) {
  relation made;
  made.table = {"public", "t"};
  made.oid = 7;
  for (const auto* name : {"id", "name", "note"})
    made.columns.push_back({.name = name, .is_identity_key = made.columns.size() < identity});
  return std::make_shared<const relation>(made);
}

struct pgoutput_rows_test : testing::Test {
  block_pool pool;
  block_builder out{pool};
  relation_ptr shape = shape_of(1);
  relation_ptr full = shape_of(3);

  using decoder = result<void>(block_builder&, const relation_ptr&, std::span<const std::byte>);

  std::string decode(decoder* how, const relation_ptr& of, const bytes& message) {
    const auto done = how(out, of, message);
    return done ? lines(out.take()).at(0) : done.error().detail;
  }
};

TEST_F(pgoutput_rows_test, decodes_an_insert) {
  EXPECT_EQ(decode(append_insert, shape, tests::insert(7, {"42", null_value, ""})),
            "insert public.t [42|null|]");
}

TEST_F(pgoutput_rows_test, decodes_an_update_without_an_old_row) {
  EXPECT_EQ(decode(append_update, shape, tests::update(7, {"1", "a", "b"})),
            "update public.t [1|a|b]");
}

TEST_F(pgoutput_rows_test, marks_an_update_that_left_a_value_out_as_partial) {
  EXPECT_EQ(decode(append_update, shape, tests::update(7, {"1", "a", unchanged})),
            "update public.t [1|a|absent] partial");
}

TEST_F(pgoutput_rows_test, decodes_an_update_with_its_old_key) {
  const auto message = tests::update(7, 'K', {"1", null_value, null_value}, {"2", "a", unchanged});
  EXPECT_EQ(decode(append_update, shape, message),
            "update public.t key [1|null|null] -> [2|a|absent] partial");
}

TEST_F(pgoutput_rows_test, takes_what_a_full_identity_left_out_from_the_old_row) {
  const auto message = tests::update(7, 'O', {"1", "a", "large"}, {"1", "b", unchanged});
  EXPECT_EQ(decode(append_update, full, message),
            "update public.t full [1|a|large] -> [1|b|large]");
}

TEST_F(pgoutput_rows_test, takes_a_large_key_that_was_left_out_from_the_old_key) {
  const auto message =
      tests::update(7, 'K', {"large", null_value, null_value}, {unchanged, "b", "c"});
  EXPECT_EQ(decode(append_update, shape, message),
            "update public.t key [large|null|null] -> [large|b|c]");
}

TEST_F(pgoutput_rows_test, takes_a_null_of_the_old_row_as_a_null) {
  const auto message = tests::update(7, 'O', {"1", "a", null_value}, {"1", "b", unchanged});
  EXPECT_EQ(decode(append_update, full, message), "update public.t full [1|a|null] -> [1|b|null]");
}

TEST_F(pgoutput_rows_test, decodes_a_delete_by_key_and_by_row) {
  EXPECT_EQ(decode(append_remove, shape, tests::remove(7, 'K', {"1", null_value, null_value})),
            "delete public.t key [1|null|null]");
  EXPECT_EQ(decode(append_remove, full, tests::remove(7, 'O', {"1", "a", null_value})),
            "delete public.t full [1|a|null]");
}

TEST_F(pgoutput_rows_test, lays_rows_of_one_block_behind_each_other) {
  ASSERT_TRUE(append_insert(out, shape, tests::insert(7, {"1", "a", "b"})));
  ASSERT_TRUE(append_update(out, shape, tests::update(7, {"1", unchanged, "c"})));
  ASSERT_TRUE(append_insert(out, shape, tests::insert(7, {"2", "d", null_value})));
  const auto made = out.take();
  EXPECT_EQ(lines(made), (std::vector<std::string>{"insert public.t [1|a|b]",
                                                   "update public.t [1|absent|c] partial",
                                                   "insert public.t [2|d|null]"}));
  EXPECT_EQ(made->arena_used, std::string_view{"1ab1c2d"}.size());
}

TEST_F(pgoutput_rows_test, refuses_every_prefix_and_leaves_the_block_as_it_was) {
  ASSERT_TRUE(append_insert(out, shape, tests::insert(7, {"1", "a", "b"})));
  const std::pair<decoder*, bytes> messages[] = {
      {append_insert, tests::insert(7, {"42", null_value, unchanged})},
      {append_update, tests::update(7, {"1", "a", "b"})},
      {append_update, tests::update(7, 'K', {"1", null_value, null_value}, {"2", "a", unchanged})},
      {append_update, tests::update(7, 'O', {"1", "a", "b"}, {"2", "a", unchanged})},
      {append_remove, tests::remove(7, 'O', {"1", "a", "b"})},
  };
  for (const auto& [decode_row, message] : messages)
    for (std::size_t size = 0; size < message.size(); ++size) {
      const auto done = decode_row(out, shape, std::span{message}.first(size));
      ASSERT_FALSE(done) << size << " of " << message.size() << " bytes";
      EXPECT_EQ(done.error().code, errc::malformed_message);
      EXPECT_EQ(out.events(), 1u);
    }
  EXPECT_EQ(lines(out.take()), std::vector<std::string>{"insert public.t [1|a|b]"});
}

TEST_F(pgoutput_rows_test, refuses_bytes_behind_the_row) {
  auto message = tests::insert(7, {"1", "a", "b"});
  message.push_back(std::byte{0});
  EXPECT_EQ(decode(append_insert, shape, message),
            "pgoutput insert of public.t: too long at offset 26 of 27 bytes");
  EXPECT_TRUE(out.empty());
}

TEST_F(pgoutput_rows_test, refuses_binary_columns_by_name) {
  EXPECT_EQ(decode(append_insert, shape, tests::insert(7, {"1", tests::sent{'b', "ab"}, "c"})),
            "pgoutput insert of public.t: has a column in binary form, which was not asked for at "
            "offset 14 of 27 bytes");
}

TEST_F(pgoutput_rows_test, refuses_unknown_forms_and_parts) {
  EXPECT_EQ(decode(append_insert, shape, tests::insert(7, {tests::sent{'x'}, "b", "c"})),
            "pgoutput insert of public.t: has a column of unknown form at offset 8 of 21 bytes");
  auto message = tests::insert(7, {"1", "b", "c"});
  message[5] = std::byte{'X'};
  EXPECT_EQ(decode(append_insert, shape, message),
            "pgoutput insert of public.t: has an unknown part at offset 5 of 26 bytes");
  EXPECT_EQ(decode(append_remove, shape, tests::remove(7, 'N', {"1", "b", "c"})),
            "pgoutput delete of public.t: has an unknown part at offset 5 of 26 bytes");
  auto twice = tests::update(7, 'K', {"1", "b", "c"}, {"1", "b", "c"});
  twice[26] = std::byte{'K'};
  EXPECT_EQ(decode(append_update, shape, twice),
            "pgoutput update of public.t: has an unknown part at offset 26 of 47 bytes");
}

TEST_F(pgoutput_rows_test, refuses_another_number_of_columns_than_the_relation_has) {
  const auto* told = "pgoutput insert of public.t: has another number of columns than its relation "
                     "at offset 6 of ";
  EXPECT_EQ(decode(append_insert, shape, tests::insert(7, {"1", "b"})),
            told + std::string{"20 bytes"});
  EXPECT_EQ(decode(append_insert, shape, tests::insert(7, {"1", "b", "c", "d"})),
            told + std::string{"32 bytes"});
  EXPECT_TRUE(out.empty());
}

TEST_F(pgoutput_rows_test, refuses_a_length_beyond_the_message) {
  bytes message =
      tests::message_writer{'I'}.u32(7).u8('N').u16(3).u8('t').u32(0xffff'ffff).raw("1");
  EXPECT_EQ(decode(append_insert, shape, message),
            "pgoutput insert of public.t: cut short at offset 13 of 14 bytes");
}

TEST_F(pgoutput_rows_test, refuses_a_length_beyond_a_message_with_much_left) {
  bytes message =
      tests::message_writer{'I'}.u32(7).u8('N').u16(3).u8('t').u32(1000).raw(std::string(100, 'x'));
  EXPECT_EQ(decode(append_insert, shape, message),
            "pgoutput insert of public.t: cut short at offset 13 of 113 bytes");
}

TEST_F(pgoutput_rows_test, copies_values_of_every_size_next_to_each_other) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string a(size, 'a');
    const std::string b(40 - size, 'b');
    EXPECT_EQ(decode(append_insert, shape, tests::insert(7, {a.c_str(), b.c_str(), "c"})),
              "insert public.t [" + a + "|" + b + "|c]");
  }
}

TEST_F(pgoutput_rows_test, says_no_value_in_an_error) {
  auto message = tests::insert(7, {"secret", "secret", "secret"});
  message.pop_back();
  EXPECT_EQ(decode(append_insert, shape, message).find("secret"), std::string::npos);
}

TEST_F(pgoutput_rows_test, tells_the_relation_of_a_row) {
  EXPECT_EQ(relation_of(tests::insert(0x01020304, {})), 0x01020304u);
  EXPECT_EQ(relation_of(bytes{std::byte{'I'}, std::byte{1}}), 0u);
}

} // namespace
} // namespace cdc::sources::postgres
