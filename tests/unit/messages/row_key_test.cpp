#include "messages/row_key.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cdc {
namespace {

using values = std::vector<std::string>;

TEST(row_key, keeps_values_apart_that_a_joined_string_would_mix) {
  const std::set<std::string> keys{
      encode_key(values{"a", "bc"}), encode_key(values{"ab", "c"}),
      encode_key(values{"abc", ""}), encode_key(values{"", "abc"}),
      encode_key(values{"abc"}),     encode_key(values{"a", "b", "c"}),
  };

  EXPECT_EQ(keys.size(), 6u);
}

TEST(row_key, gives_back_what_was_encoded) {
  const values written{"", std::string("\0\1", 2), "long enough to be on the heap, surely"};
  const auto encoded = encode_key(written);
  const auto read = decode_key(encoded);

  ASSERT_TRUE(read);
  EXPECT_EQ(values(read->begin(), read->end()), written);
}

TEST(row_key, takes_the_key_columns_of_an_image_in_key_order) {
  block_pool pool;
  block_builder builder{pool};
  const auto shape = std::make_shared<const relation>(
      relation{.columns = {column{}, column{}, column{}}, .key = {2, 0}});
  builder.row(operation::insert, shape);
  for (const auto* text : {"x", "y", "z"})
    builder.value(text);
  const auto made = builder.take();

  std::string encoded = "left from before";
  encode_key(*made, made->image(0, *shape), shape->key, encoded);

  EXPECT_EQ(encoded, encode_key(values{"z", "x"}));
}

// Only a prefix that ends behind a whole value is a key too, of fewer columns.
TEST(row_key, refuses_a_key_that_is_cut_inside_a_value) {
  const auto encoded = encode_key(values{"abc", "de"});
  for (std::size_t size = 0; size <= encoded.size(); ++size) {
    const auto read = decode_key(std::string_view{encoded}.substr(0, size));
    EXPECT_EQ(read.has_value(), size == 0 || size == 7 || size == encoded.size()) << size;
  }
}

} // namespace
} // namespace cdc
