#include "supervision/succession.hpp"

#include <gtest/gtest.h>

#include "tests/unit/engine/script.hpp"

namespace cdc::supervision {

namespace {

using engine::test::shape_of;

TEST(succession, takes_the_table_it_knows_and_every_other_name) {
  succession names;
  names.begin({shape_of("orders", 1)});
  EXPECT_EQ(names.takes(*shape_of("orders", 1), false), true);
  EXPECT_EQ(names.takes(*shape_of("items", 2), false), true);
}

TEST(succession, begins_a_life_anew_for_a_table_that_took_the_name) {
  succession names;
  names.begin({shape_of("orders", 1)});
  const auto met = names.takes(*shape_of("orders", 2), false);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, errc::source_unavailable);
  EXPECT_FALSE(names.takes(*shape_of("orders", 2), false)) << "the same life still knows no better";

  names.begin({shape_of("orders", 2)});
  EXPECT_EQ(names.takes(*shape_of("orders", 2), false), true);
}

TEST(succession, leaves_out_the_rows_of_a_table_that_had_the_name_before) {
  succession names;
  names.begin({shape_of("orders", 2)});
  EXPECT_FALSE(names.takes(*shape_of("orders", 1), false));
  names.begin({shape_of("orders", 2)});
  EXPECT_EQ(names.takes(*shape_of("orders", 1), false), false);
  EXPECT_EQ(names.takes(*shape_of("orders", 2), false), true);
}

TEST(succession, begins_anew_for_a_table_that_takes_its_old_name_back) {
  succession names;
  names.begin({shape_of("orders", 2)});
  EXPECT_FALSE(names.takes(*shape_of("orders", 1), false));
  names.begin({shape_of("orders", 2)});
  EXPECT_FALSE(names.takes(*shape_of("orders", 1), true));
  names.begin({shape_of("orders", 1)});
  EXPECT_EQ(names.takes(*shape_of("orders", 1), true), true);
  EXPECT_FALSE(names.takes(*shape_of("orders", 2), false)) << "met as the known one so far";
}

TEST(succession, knows_a_table_that_was_renamed) {
  succession names;
  names.begin({shape_of("orders", 1)});
  EXPECT_EQ(names.former_name(*shape_of("orders", 1)), std::nullopt);
  EXPECT_EQ(names.former_name(*shape_of("others", 2)), std::nullopt);
  EXPECT_EQ(names.takes(*shape_of("past_orders", 1), true), true);
  EXPECT_EQ(names.former_name(*shape_of("past_orders", 1)), (table_id{"public", "orders"}));
}

} // namespace

} // namespace cdc::supervision
