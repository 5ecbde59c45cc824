#include <string>

#include <gtest/gtest.h>

#include "sinks/search/document_writer.hpp"
#include "sinks/search/stored_document.hpp"
#include "sinks/search/value_writer.hpp"
#include "tests/contract/sink_contract_batches.hpp"

namespace cdc::sinks::search {

namespace {

using contract::make_table;

std::string written(value_shape how, std::string_view text) {
  json_writer out;
  value_writer().write(how, text, out);
  return std::string(out.text());
}

std::string array_of(kind element, std::string_view text, char delimiter = ',') {
  return written({kind::array, element, delimiter}, text);
}

/// The images of one table's rows, in one block.
class rows {
public:
  explicit rows(target_table_ptr table) : table_(std::move(table)) {}

  rows& add(const contract::row& cells) {
    builder_.row(operation::insert, table_->source);
    for (const auto& it : cells) {
      if (it.is == contract::value::state::text)
        builder_.value(it.text);
      else if (it.is == contract::value::state::null)
        builder_.null();
      else
        builder_.absent();
    }
    return *this;
  }
  void take() { block_ = builder_.take(); }
  [[nodiscard]] row_image at(std::uint32_t row) const {
    return {block_.get(), row * static_cast<std::uint32_t>(table_->source->columns.size())};
  }

private:
  target_table_ptr table_;
  block_pool pool_;
  block_builder builder_{pool_, {.events = 1000, .bytes = std::size_t{1} << 20U}};
  block_ptr block_;
};

std::string id_of(const target_table_ptr& table, const contract::row& cells) {
  rows of(table);
  of.add(cells).take();
  std::string out;
  document_writer(table).append_id(of.at(0), out);
  return out;
}

} // namespace

TEST(value_writer, writes_each_kind_as_it_stands_in_a_document) {
  EXPECT_EQ(written({kind::boolean}, "t"), "true");
  EXPECT_EQ(written({kind::boolean}, "f"), "false");
  EXPECT_EQ(written({kind::integer}, "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(written({kind::floating}, "1e-07"), "1e-07");
  EXPECT_EQ(written({kind::floating}, "NaN"), "\"NaN\"");
  EXPECT_EQ(written({kind::floating}, "-Infinity"), "\"-Infinity\"");
  EXPECT_EQ(written({kind::decimal}, "12.3400"), "\"12.3400\"");
  EXPECT_EQ(written({kind::text}, "a\n\"b\""), R"("a\n\"b\"")");
  EXPECT_EQ(written({kind::timestamptz}, "infinity"), "\"infinity\"");
  EXPECT_EQ(written({kind::bit}, "0101"), "\"0101\"");
}

TEST(value_writer, writes_bytes_as_base64) {
  EXPECT_EQ(written({kind::bytes}, "\\x"), "\"\"");
  EXPECT_EQ(written({kind::bytes}, "\\x00"), "\"AA==\"");
  EXPECT_EQ(written({kind::bytes}, "\\x00ff"), "\"AP8=\"");
  EXPECT_EQ(written({kind::bytes}, "\\x00ff10"), "\"AP8Q\"");
  EXPECT_EQ(written({kind::bytes}, "\\x00FF10ab"), "\"AP8Qqw==\"");
  EXPECT_EQ(written({kind::bytes}, "\\xzz"), "\"\\\\xzz\"") << "no hex: as it is";
}

TEST(value_writer, keeps_a_json_document_byte_for_byte_but_for_its_line_breaks) {
  for (const auto* text : {R"({"a":[1,{"b":null}],"c":"x"})", "[]", "{}", "1e400",
                           "12345678901234567890123", "\"s\"", "true", "null", "[1e400,-0.0]"})
    EXPECT_EQ(written({kind::json}, text), text);
  EXPECT_EQ(written({kind::json}, "{\"a\":\r\n1}\n"), "{\"a\":  1} ");
}

TEST(value_writer, writes_as_a_string_what_is_no_json_document) {
  EXPECT_EQ(written({kind::json}, "{\"a\":"), R"("{\"a\":")");
  EXPECT_EQ(written({kind::json}, "{} {}"), R"("{} {}")");
  EXPECT_EQ(written({kind::json}, "[1]]"), R"("[1]]")");
  EXPECT_EQ(written({kind::json}, "nothing"), R"("nothing")");
  EXPECT_EQ(written({kind::json}, "[\"\xff\"]"), "\"[\\\"\xEF\xBF\xBD\\\"]\"");
  EXPECT_EQ(written({kind::json}, ""), "\"\"");
}

TEST(value_writer, writes_arrays_of_any_type_and_dimension) {
  EXPECT_EQ(array_of(kind::integer, "{}"), "[]");
  EXPECT_EQ(array_of(kind::integer, "{1,NULL,3}"), "[1,null,3]");
  EXPECT_EQ(array_of(kind::integer, "[2:3][0:1]={{1,2},{3,4}}"), "[[1,2],[3,4]]");
  EXPECT_EQ(array_of(kind::text, R"({"a b",null,"NULL","q\"uo\\te","",x})"),
            R"(["a b",null,"NULL","q\"uo\\te","","x"])");
  EXPECT_EQ(array_of(kind::decimal, "{1.50}"), R"(["1.50"])");
  EXPECT_EQ(array_of(kind::boolean, "{t,f}"), "[true,false]");
  EXPECT_EQ(array_of(kind::other, "{(1,1),(0,0);(2,2),(1,1)}", ';'),
            R"J(["(1,1),(0,0)","(2,2),(1,1)"])J");
  EXPECT_EQ(array_of(kind::json, R"({"{\"a\": [1]}"})"), R"([{"a": [1]}])");
  EXPECT_EQ(array_of(kind::bytes, R"({"\\x00ff"})"), R"(["AP8="])");
}

TEST(value_writer, writes_as_a_string_what_is_no_array) {
  for (const auto* text :
       {"", "{", "{1", "1}", "{1}}", "{1}x", "{,}", "{1,}", "{{1}{2}}", "[1:2", "x"})
    EXPECT_EQ(array_of(kind::integer, text), "\"" + std::string{text} + "\"") << text;
}

// -- identity -------------------------------------------------------------------------------------

TEST(document_id, is_the_value_of_a_single_key) {
  const auto by = [](kind what) { return make_table("t", {{"id", what, true}, {"v"}}); };
  EXPECT_EQ(id_of(by(kind::integer), {"17", "x"}), "17");
  EXPECT_EQ(id_of(by(kind::text), {"größe 中", "x"}), "größe 中");
  EXPECT_EQ(id_of(by(kind::boolean), {"t", "x"}), "true");
  EXPECT_EQ(id_of(by(kind::bytes), {"\\x00ff", "x"}), "AP8=");
}

TEST(document_id, joins_a_composite_key_by_the_names_of_its_columns) {
  const auto table = make_table("t", {{"b", kind::integer, true}, {"v"}, {"a", kind::text, true}});
  EXPECT_EQ(id_of(table, {"2", "x", "one"}), "a=one,b=2");
}

TEST(document_id, tells_apart_keys_whose_joined_texts_are_the_same) {
  const auto table = make_table("t", {{"a", kind::text, true}, {"b", kind::text, true}});
  const auto one = id_of(table, {"1,b=2", "3"});
  const auto other = id_of(table, {"1", "2,b=3"});
  EXPECT_NE(one, other);
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(id_of(table, {"1,c=2", "3"}), "a=1,c=2,b=3") << "this is no other row's";
}

TEST(document_id, is_a_hash_where_the_server_would_not_take_it) {
  const auto table = make_table("t", {{"id", kind::text, true}});
  EXPECT_EQ(id_of(table, {std::string(511, 'x')}), std::string(511, 'x'));
  EXPECT_EQ(id_of(table, {std::string(512, 'x')}), std::string(512, 'x'));
  const auto hash = id_of(table, {std::string(513, 'x')});
  EXPECT_EQ(hash, sha256(std::string(513, 'x')));
  EXPECT_NE(hash, id_of(table, {std::string(514, 'x')}));
  std::string umlauts;
  for (int i = 0; i < 257; ++i)
    umlauts += "ü";
  EXPECT_EQ(id_of(table, {umlauts}).size(), 64U) << "bytes count, not characters";
}

TEST(document_id, is_never_empty) {
  const auto table = make_table("t", {{"id", kind::text, true}});
  EXPECT_EQ(id_of(table, {""}), "__empty__");
  EXPECT_NE(id_of(table, {"__empty__"}), "__empty__");
}

TEST(document_id, of_a_row_without_a_key_is_what_it_holds) {
  const auto table = make_table("t", {{"b"}, {"a", kind::integer}});
  EXPECT_EQ(id_of(table, {"x", "1"}), sha256(R"({"a":1,"b":"x"})").substr(0, 32));
}

TEST(sha256, is_the_standard_one) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// -- documents ------------------------------------------------------------------------------------

TEST(document_writer, overlays_later_images_on_a_row) {
  const auto table = make_table("t", {{"id", kind::integer, true}, {"a"}, {"b"}, {"c"}});
  rows of(table);
  of.add({"1", "a1", "b1", nullptr}).add({"1", "a2", contract::absent, contract::absent});
  of.add({"1", contract::absent, nullptr, "c3"}).take();
  document_writer writer(table);
  json_writer out;
  writer.write(of.at(0), out);
  EXPECT_EQ(out.text(), R"({"id":1,"a":"a1","b":"b1","c":null})");
  out.clear();
  const std::vector<row_image> over{of.at(1), of.at(2)};
  writer.write(of.at(0), over, out);
  EXPECT_EQ(out.text(), R"({"id":1,"a":"a2","b":null,"c":"c3"})");
}

TEST(document_writer, completes_a_row_from_a_stored_document) {
  const auto table = make_table("t", {{"id", kind::integer, true}, {"a"}, {"b"}});
  rows of(table);
  of.add({"2", contract::absent, "new"}).take();
  const std::vector<row_image> over{of.at(0)};
  document_writer writer(table);
  json_writer out;
  ASSERT_TRUE(writer.write(
      "{\"id\":1,\n \"a\" : 1e400 , \"b\":\"old\",\"by\\u0020hand\":{\"x\":[1, 2]}}", over, out));
  EXPECT_EQ(out.text(), R"({"a":1e400,"by hand":{"x":[1, 2]},"id":2,"b":"new"})");
  out.clear();
  EXPECT_FALSE(writer.write("[1]", over, out));
  EXPECT_FALSE(writer.write(R"({"a":1,)", over, out));
  EXPECT_EQ(out.text(), "");
}

} // namespace cdc::sinks::search
