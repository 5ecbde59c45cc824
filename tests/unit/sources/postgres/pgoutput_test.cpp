#include "sources/postgres/pgoutput.hpp"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/pgoutput_messages.hpp"

namespace cdc::sources::postgres {
namespace {

using tests::bytes;
using input = std::span<const std::byte>;

TEST(pgoutput, reads_a_begin) {
  const auto got = decode_begin(tests::begin(0x153bc50, 731, 1));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->final, position{0x153bc50});
  EXPECT_EQ(got->xid, 731u);
  EXPECT_EQ(got->commit_time, 946'684'800'000'001);
}

TEST(pgoutput, reads_a_commit) {
  const auto got = decode_commit(tests::commit(100, 148, 0));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->final, position{100});
  EXPECT_EQ(got->end, position{148});
  EXPECT_EQ(got->commit_time, 946'684'800'000'000);
}

TEST(pgoutput, reads_times_before_the_protocols_epoch) {
  EXPECT_EQ(unix_microseconds(static_cast<std::uint64_t>(-946'684'800'000'000)), 0);
}

TEST(pgoutput, reads_a_relation_with_its_identity_and_columns) {
  const auto message = tests::relation(
      16426, "shop", "orders", 'i',
      {{.name = "id", .type_oid = 20, .is_identity_key = true},
       {.name = "note", .type_oid = 1043, .is_identity_key = false, .type_modifier = 44}});
  const auto got = decode_relation(message);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->oid, 16426u);
  EXPECT_EQ(got->schema, "shop");
  EXPECT_EQ(got->name, "orders");
  EXPECT_EQ(got->identity, replica_identity::index);
  ASSERT_EQ(got->columns.size(), 2u);
  EXPECT_EQ(got->columns[0].name, "id");
  EXPECT_EQ(got->columns[0].type_oid, 20u);
  EXPECT_EQ(got->columns[0].type_modifier, -1);
  EXPECT_TRUE(got->columns[0].is_identity_key);
  EXPECT_EQ(got->columns[1].type_modifier, 44);
  EXPECT_FALSE(got->columns[1].is_identity_key);
}

TEST(pgoutput, takes_an_empty_schema_for_pg_catalog) {
  EXPECT_EQ(decode_relation(tests::relation(1, "", "t", 'd', {}))->schema, "pg_catalog");
  EXPECT_EQ(decode_type(tests::type(1, "", "t"))->schema, "pg_catalog");
}

TEST(pgoutput, refuses_an_unknown_replica_identity) {
  const auto got = decode_relation(tests::relation(1, "s", "t", 'z', {}));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().detail, "pgoutput relation: unknown replica identity 0x7a at offset 9");
}

TEST(pgoutput, reads_a_type_and_an_origin) {
  const auto type_message = tests::type(16500, "public", "mood");
  const auto type = decode_type(type_message);
  ASSERT_TRUE(type);
  EXPECT_EQ(type->oid, 16500u);
  EXPECT_EQ(type->name, "mood");
  const auto origin_message = tests::origin(9, "elsewhere");
  const auto origin = decode_origin(origin_message);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->commit, position{9});
  EXPECT_EQ(origin->name, "elsewhere");
}

TEST(pgoutput, reads_a_truncate_of_several_relations_in_order) {
  const auto got = decode_truncate(tests::truncate({3, 1, 2}, 3));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->relations, (std::vector<std::uint32_t>{3, 1, 2}));
  EXPECT_TRUE(got->cascade);
  EXPECT_TRUE(got->restart_identity);
  EXPECT_TRUE(decode_truncate(tests::truncate({1}, 1))->cascade);
  EXPECT_FALSE(decode_truncate(tests::truncate({1}, 1))->restart_identity);
  EXPECT_TRUE(decode_truncate(tests::truncate({1}, 2))->restart_identity);
}

TEST(pgoutput, reads_a_message_of_either_kind) {
  const auto message = tests::logical_message(true, 77, "cdc", std::string_view{"a\0b", 3});
  const auto got = decode_message(message);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->is_transactional);
  EXPECT_EQ(got->at, position{77});
  EXPECT_EQ(got->prefix, "cdc");
  EXPECT_EQ(got->content, (std::string_view{"a\0b", 3}));
  EXPECT_FALSE(decode_message(tests::logical_message(false, 1, "", ""))->is_transactional);
}

TEST(pgoutput, knows_its_messages_by_their_first_byte) {
  for (const auto letter : std::string_view{"BCORYIUDTM"})
    EXPECT_TRUE(type_of(bytes{static_cast<std::byte>(letter)})) << letter;
  for (const auto letter : std::string_view{"SEcAbPKrpbx\0", 12})
    EXPECT_FALSE(type_of(bytes{static_cast<std::byte>(letter)})) << letter;
  EXPECT_FALSE(type_of({}));
}

struct whole_message {
  const char* name;
  bytes message;
  std::function<result<void>(input)> decode;
};

template <class Decode>
std::function<result<void>(input)> forgetting(Decode decode) {
  return [decode](input message) { return decode(message).map([](const auto&) {}); };
}

class pgoutput_messages : public testing::TestWithParam<whole_message> {};

TEST_P(pgoutput_messages, refuses_every_prefix_and_names_the_offset) {
  const auto& [name, message, decode] = GetParam();
  ASSERT_TRUE(decode(message));
  for (std::size_t size = 1; size < message.size(); ++size) {
    const auto got = decode(std::span{message}.first(size));
    ASSERT_FALSE(got) << size << " of " << message.size() << " bytes";
    EXPECT_EQ(got.error().code, errc::malformed_message);
    const auto& detail = got.error().detail;
    EXPECT_TRUE(detail.starts_with("pgoutput " + std::string{name} + ": cut short at offset "))
        << detail;
    EXPECT_TRUE(detail.ends_with(" of " + std::to_string(size) + " bytes")) << detail;
  }
}

TEST_P(pgoutput_messages, refuses_bytes_behind_the_end) {
  const auto& [name, message, decode] = GetParam();
  auto longer = message;
  longer.push_back(std::byte{0});
  const auto got = decode(longer);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().detail, "pgoutput " + std::string{name} + ": too long at offset " +
                                    std::to_string(message.size()) + " of " +
                                    std::to_string(longer.size()) + " bytes");
}

INSTANTIATE_TEST_SUITE_P(
    all, pgoutput_messages,
    testing::Values(whole_message{"begin", tests::begin(1, 2), forgetting(decode_begin)},
                    whole_message{"commit", tests::commit(1, 2), forgetting(decode_commit)},
                    whole_message{"origin", tests::origin(1, "o"), forgetting(decode_origin)},
                    whole_message{"relation",
                                  tests::relation(1, "s", "t", 'd', {{.name = "a"}, {.name = "b"}}),
                                  forgetting(decode_relation)},
                    whole_message{"type", tests::type(1, "s", "t"), forgetting(decode_type)},
                    whole_message{"truncate", tests::truncate({1, 2}), forgetting(decode_truncate)},
                    whole_message{"message", tests::logical_message(false, 1, "p", "xyz"),
                                  forgetting(decode_message)}),
    [](const auto& of) { return of.param.name; });

} // namespace
} // namespace cdc::sources::postgres
