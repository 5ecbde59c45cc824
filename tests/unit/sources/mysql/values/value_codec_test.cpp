#include "sources/mysql/values/value_codec.hpp"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "sources/mysql/values/json_binary.hpp"
#include "sources/mysql/values/render.hpp"

namespace cdc::sources::mysql {
namespace {

column_type type(std::string_view data_type, std::string_view column_type,
                 std::string_view charset = {}, std::uint64_t octets = 0) {
  auto out = type_from_catalogue({.data_type = data_type,
                                  .column_type = column_type,
                                  .character_set_name = charset,
                                  .octet_length = octets});
  EXPECT_TRUE(out) << out.error().detail;
  return *out;
}

std::string selected(const column_type& of, std::string_view text, bool is_good = true) {
  auto codec = value_codec::make(of);
  EXPECT_TRUE(codec);
  block_pool pool;
  block_builder out{pool};
  EXPECT_EQ(codec->append_selected(out, text), is_good);
  const auto made = out.take();
  return std::string(made->text(made->cells.at(0)));
}

template <class T>
std::string floating(T value) {
  std::array<char, floating_room> room{};
  return {room.data(), write_floating(value, room.data())};
}

TEST(floats, are_printed_as_the_servers_do) {
  EXPECT_EQ(floating(0.1), "0.1");
  EXPECT_EQ(floating(0.1F), "0.1");
  EXPECT_EQ(floating(1e14), "100000000000000");
  EXPECT_EQ(floating(1e15), "1e15");
  EXPECT_EQ(floating(1234567890123456.5), "1234567890123456.5");
  EXPECT_EQ(floating(1e-15), "0.000000000000001");
  EXPECT_EQ(floating(1.5e-16), "1.5e-16");
  EXPECT_EQ(floating(-0.0), "-0");
  EXPECT_EQ(floating(16777216.0F), "16777216");
  EXPECT_EQ(floating(std::numeric_limits<double>::lowest()), "-1.7976931348623157e308");
  EXPECT_EQ(floating(std::numeric_limits<double>::denorm_min()), "5e-324");
}

TEST(catalogue_types, are_read_with_their_sizes) {
  EXPECT_EQ(type("decimal", "decimal(65,30) unsigned").precision, 65);
  EXPECT_EQ(type("decimal", "decimal(65,30) unsigned").scale, 30);
  EXPECT_TRUE(type("bigint", "bigint(20) unsigned zerofill").is_unsigned);
  EXPECT_EQ(type("datetime", "datetime(6)").fraction, 6);
  EXPECT_EQ(type("datetime", "datetime /* mariadb-5.3 */").fraction, 0);
  EXPECT_EQ(type("bit", "bit(17)").length, 17u);
  EXPECT_EQ(type("enum", "enum('a','c''d','')", "utf8mb4", 12).labels,
            (std::vector<std::string>{"a", "c'd", ""}));
  EXPECT_EQ(type("varchar", "varchar(300) /*M!100301 COMPRESSED*/", "utf8mb4", 1200).field,
            field_type::varchar_compressed);
}

TEST(catalogue_types, become_columns_of_a_relation) {
  EXPECT_EQ(make_column("c", type("int", "int unsigned")).what, kind::integer);
  EXPECT_TRUE(make_column("c", type("bit", "bit(1)")).is_unsigned);
  EXPECT_EQ(make_column("c", type("varbinary", "varbinary(9)", {}, 9)).what, kind::bytes);
  EXPECT_EQ(make_column("c", type("text", "text", "latin1", 65535)).what, kind::text);
  EXPECT_EQ(make_column("c", type("timestamp", "timestamp")).what, kind::timestamptz);
  EXPECT_EQ(make_column("c", type("vector", "vector(3)")).what, kind::array);
  EXPECT_EQ(make_column("c", type("uuid", "uuid")).type_name, "uuid");
}

TEST(catalogue_types, that_nobody_knows_are_refused) {
  const auto got = type_from_catalogue({.data_type = "hologram", .column_type = "hologram(3)"});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, errc::source_misconfigured);
}

TEST(types_of_log_and_catalogue, make_one_when_they_can) {
  column_type logged{.field = field_type::string, .prefix = 1, .length = 16};
  EXPECT_FALSE(is_complete(logged));
  EXPECT_TRUE(complete(logged, type("uuid", "uuid")));
  EXPECT_TRUE(is_complete(logged));
  EXPECT_EQ(logged.shown_as, disguise::uuid);
  column_type shorter{.field = field_type::string, .prefix = 1, .length = 4};
  EXPECT_FALSE(complete(shorter, type("uuid", "uuid")));
  column_type number{.field = field_type::integer};
  EXPECT_FALSE(complete(number, type("bigint", "bigint")));
}

TEST(selected_values, lose_what_the_servers_add_for_show) {
  EXPECT_EQ(selected(type("int", "int(10) unsigned zerofill"), "0000000042"), "42");
  EXPECT_EQ(selected(type("int", "int(10) unsigned zerofill"), "0000000000"), "0");
  EXPECT_EQ(selected(type("decimal", "decimal(10,2)"), "-0.50"), "-0.50");
  EXPECT_EQ(selected(type("decimal", "decimal(5,0) unsigned zerofill"), "00007"), "7");
  EXPECT_EQ(selected(type("year", "year"), "0000"), "0");
  EXPECT_EQ(selected(type("float", "float"), "0.10000000149011612"), "0.1");
  EXPECT_EQ(selected(type("double", "double(12,3)"), "1.100"), "1.1");
  EXPECT_EQ(selected(type("bit", "bit(17)"), std::string_view{"\x01\x00\x01", 3}), "65537");
  EXPECT_EQ(selected(type("timestamp", "timestamp(3)"), "2026-12-01 01:02:03.500"),
            "2026-12-01 01:02:03.500+00");
  EXPECT_EQ(selected(type("blob", "blob", {}, 65535), std::string_view{"\0\xff", 2}), "\\x00ff");
}

TEST(selected_values, that_are_none_are_told_and_kept) {
  EXPECT_EQ(selected(type("int", "int"), "4x", false), "\\x3478");
  EXPECT_EQ(selected(type("int", "int"), "", false), "\\x");
}

TEST(text, of_every_set_becomes_utf8) {
  const auto text = [](std::string_view set, std::string_view bytes) {
    return selected(type("varchar", "varchar(20)", set, 80), bytes);
  };
  EXPECT_EQ(text("latin1", "\x80\xe9\x81"), "€é\u0081");
  EXPECT_EQ(text("cp1251", "\xef\xf0\xe8"), "при");
  EXPECT_EQ(text("koi8r", "\xd0\xd2\xc9"), "при");
  EXPECT_EQ(text("gbk", "\xd6\xd0"), "中");
  EXPECT_EQ(text("sjis", "\x93\xfa\x81\x5f"), "日\\");
  EXPECT_EQ(text("cp932", "\x87\x40"), "①");
  EXPECT_EQ(text("ujis", "\xc6\xfc\x8f\xb0\xa1"), "日丂");
  EXPECT_EQ(text("euckr", "\xc7\xd1"), "한");
  EXPECT_EQ(text("big5", "\xa4\xa4\xc7\xf2"), "中⑩");
  EXPECT_EQ(text("gb18030", "\x94\x39\xfc\x36\x81\x30\x81\x30"), "😀\u0080");
  EXPECT_EQ(text("utf16", {"\xd8\x3d\xde\x00\x00\x61", 6}), "😀a");
  EXPECT_EQ(text("utf16le", {"\x61\x00\x3d\xd8\x00\xde", 6}), "a😀");
  EXPECT_EQ(text("ucs2", {"\x65\xe5", 2}), "日");
  EXPECT_EQ(text("utf32", {"\x00\x01\xf6\x00", 4}), "😀");
  EXPECT_EQ(text("swe7", "[@"), "ÄÉ");
}

TEST(text, that_is_no_text_of_its_set_is_replaced) {
  EXPECT_EQ(selected(type("char", "char(4)", "gbk", 8), "a\x81"), "a\uFFFD");
  EXPECT_EQ(selected(type("char", "char(4)", "utf16", 16), std::string_view{"\xdc\x00\x00", 3}),
            "\uFFFD\uFFFD");
}

std::string changed(std::string_view document, std::string_view diffs) {
  std::string out;
  EXPECT_TRUE(append_json_with_diffs(document, diffs, out));
  return out;
}

TEST(json, takes_its_changes_in_order) {
  using namespace std::string_view_literals;
  const auto array = "\x02\x02\x00\x0a\x00\x05\x01\x00\x05\x02\x00"sv; // [1, 2]
  EXPECT_EQ(changed(array, {}), "[1, 2]");
  EXPECT_EQ(changed(array, "\x00\x04$[1]\x03\x05\x07\x00"sv), "[1, 7]");
  EXPECT_EQ(changed(array, "\x01\x04$[0]\x02\x04\x01"sv), "[true, 1, 2]");
  EXPECT_EQ(changed(array, "\x02\x04$[0]\x02\x04$[0]"sv), "[]");
  std::string out;
  EXPECT_FALSE(append_json_with_diffs(array, "\x02\x04$[5]"sv, out));
  EXPECT_FALSE(append_json_with_diffs(array, "\x09\x04$[0]"sv, out));
}

TEST(json, that_refers_to_itself_is_refused_soon) {
  // An array of 300 entries that are all the array itself.
  std::string document{"\x02"};
  const auto put = [&](unsigned value) {
    document += static_cast<char>(value & 0xffU);
    document += static_cast<char>(value >> 8U);
  };
  put(300);
  put(4 + 300 * 3);
  for (int i = 0; i < 300; ++i) {
    document += '\x02';
    put(0);
  }
  std::string out;
  EXPECT_FALSE(append_json(document, out));
  EXPECT_FALSE(append_json_with_diffs(document, {}, out));
}

} // namespace
} // namespace cdc::sources::mysql
