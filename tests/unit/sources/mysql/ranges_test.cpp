#include "sources/mysql/ranges.hpp"

#include <gtest/gtest.h>

namespace cdc::sources::mysql {

namespace {

const key_part number{.name = "id", .form = literal_form::number};
const key_part name{.name = "na`me", .form = literal_form::hex, .charset = "latin1"};
const key_part day{.name = "day", .form = literal_form::quoted};
const key_part bytes{.name = "b", .form = literal_form::hex};

std::string where(std::vector<key_part> key, load_range range) {
  return where_range(key, range).value();
}

} // namespace

TEST(ranges, of_an_open_range_have_no_condition) {
  EXPECT_EQ(where({number}, {}), "");
}

TEST(ranges, compare_one_column_as_it_is) {
  EXPECT_EQ(where({number}, {.from = {"-5"}, .to = {"18446744073709551615"}}),
            " WHERE `id` >= -5 AND `id` < 18446744073709551615");
}

TEST(ranges, spell_out_the_order_of_several_columns) {
  EXPECT_EQ(where({number, day, bytes}, {.from = {"1", "2020-01-02", "00FF"}, .to = {}}),
            " WHERE (`id` > 1 OR (`id` = 1 AND (`day` > '2020-01-02' OR (`day` = '2020-01-02' AND "
            "`b` >= X'00FF'))))");
  EXPECT_EQ(where({number, day}, {.from = {}, .to = {"1", "2020-01-02"}}),
            " WHERE (`id` < 1 OR (`id` = 1 AND `day` < '2020-01-02'))");
}

TEST(ranges, may_be_bounded_by_the_leading_columns_alone) {
  EXPECT_EQ(where({number, day}, {.from = {"3"}, .to = {"4", "2020-01-02"}}),
            " WHERE `id` >= 3 AND (`id` < 4 OR (`id` = 4 AND `day` < '2020-01-02'))");
}

TEST(ranges, write_text_in_the_columns_own_character_set) {
  EXPECT_EQ(where({name}, {.from = {"E4"}, .to = {}}), " WHERE `na``me` >= _latin1 X'E4'");
  EXPECT_EQ(bound_expression(name), "HEX(`na``me`)");
  EXPECT_EQ(is_above(std::span{&name, 1}, {"E4"}).value(), "`na``me` > _latin1 X'E4'");
}

TEST(ranges, refuse_a_bound_that_is_no_value_of_its_form) {
  for (const auto* text : {"", "1 OR 1=1", "--1", "1.5.2", "0x10", "1e5"})
    EXPECT_FALSE(where_range(std::span{&number, 1}, {.from = {text}, .to = {}})) << text;
  for (const auto* text : {"E", "XX", "'"})
    EXPECT_FALSE(where_range(std::span{&name, 1}, {.from = {text}, .to = {}})) << text;
  EXPECT_FALSE(where_range(std::span{&day, 1}, {.from = {"' OR ''='"}, .to = {}}));
  EXPECT_FALSE(where_range(std::span{&number, 1}, {.from = {"1", "2"}, .to = {}}));
}

} // namespace cdc::sources::mysql
