#include "sources/postgres/copy_text.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/block_text.hpp"

namespace cdc::sources::postgres {
namespace {

using tests::lines;

relation_ptr shape_of(std::size_t columns) {
  relation made;
  made.table = {"public", "t"};
  for (std::size_t i = 0; i < columns; ++i)
    made.columns.push_back({.name = "c" + std::to_string(i)});
  return std::make_shared<const relation>(made);
}

struct copy_text_test : testing::Test {
  block_pool pool;
  block_builder out{pool};

  std::string row(std::size_t columns, std::string_view line) {
    const auto done = append_copy_row(out, shape_of(columns), line);
    return done ? lines(out.take()).at(0) : done.error().detail;
  }
};

/// What CopyAttributeOutText does to a value.
std::string escaped(std::string_view value) {
  std::string out;
  for (const auto c : value) {
    const auto at = std::string_view{"\b\f\n\r\t\v\\"}.find(c);
    if (at == std::string_view::npos)
      out.push_back(c);
    else
      out.append({'\\', "bfnrtv\\"[at]});
  }
  return out;
}

TEST_F(copy_text_test, divides_a_row_at_its_tabs) {
  EXPECT_EQ(row(3, "1\tada\t9.50\n"), "row public.t [1|ada|9.50]");
  EXPECT_EQ(row(1, "one\n"), "row public.t [one]");
}

TEST_F(copy_text_test, tells_null_from_empty_and_from_its_own_letters) {
  EXPECT_EQ(row(4, "\\N\t\tN\t\\\\N\n"), "row public.t [null||N|\\N]");
  EXPECT_EQ(row(1, "\\N\n"), "row public.t [null]");
  EXPECT_EQ(row(1, "\n"), "row public.t []");
}

TEST_F(copy_text_test, undoes_every_escape_the_server_writes) {
  EXPECT_EQ(row(2, "a\\b\\f\\n\\r\\t\\v\\\\z\tplain\n"), "row public.t [a\b\f\n\r\t\v\\z|plain]");
}

TEST_F(copy_text_test, gives_back_any_value_the_server_escaped) {
  for (std::size_t size = 0; size < 70; ++size)
    for (unsigned seed = 0; seed < 40; ++seed) {
      std::string first;
      std::string second;
      auto state = seed * 2654435761u + static_cast<unsigned>(size);
      const auto next = [&] {
        state = state * 1664525u + 1013904223u;
        return "ab\\\t\n\r\b\f\vN\xc3\xa4 .{}"[(state >> 16) % 17];
      };
      for (std::size_t i = 0; i < size; ++i)
        (i % 3 == 0 ? first : second).push_back(next());

      EXPECT_EQ(row(2, escaped(first) + '\t' + escaped(second) + '\n'),
                "row public.t [" + first + "|" + second + "]");
    }
}

TEST_F(copy_text_test, keeps_rows_of_one_block_apart) {
  const auto shape = shape_of(2);
  ASSERT_TRUE(append_copy_row(out, shape, "1\ta\\tb\n"));
  ASSERT_TRUE(append_copy_row(out, shape, "2\t\\N\n"));
  EXPECT_EQ(lines(out.take()),
            (std::vector<std::string>{"row public.t [1|a\tb]", "row public.t [2|null]"}));
}

TEST_F(copy_text_test, refuses_another_number_of_columns) {
  EXPECT_EQ(row(3, "1\t2\n"), "COPY row of public.t (3 columns, 4 bytes) has too few columns");
  EXPECT_EQ(row(1, "1\t2\n"), "COPY row of public.t (1 columns, 4 bytes) has too many columns");
  EXPECT_EQ(row(0, "1\n"), "COPY row of public.t (0 columns, 2 bytes) has too many columns");
  EXPECT_EQ(row(0, "\n"), "row public.t []");
}

TEST_F(copy_text_test, refuses_every_prefix_of_a_row) {
  const std::string line = "1\ta\\nb\t\\N\n";
  for (std::size_t size = 0; size < line.size(); ++size) {
    const auto done = append_copy_row(out, shape_of(3), line.substr(0, size));
    ASSERT_FALSE(done) << size;
    EXPECT_EQ(done.error().code, errc::malformed_message);
  }
  EXPECT_TRUE(out.empty());
}

TEST_F(copy_text_test, refuses_what_the_server_does_not_write) {
  for (const auto* line : {"a\nb\n", "\\x41\n", "\\101\n", "\\.\n", "a\\\n", "\\Na\n", "a\\N\n"}) {
    const auto done = append_copy_row(out, shape_of(1), line);
    ASSERT_FALSE(done) << line;
    EXPECT_EQ(done.error().code, errc::malformed_message);
    EXPECT_TRUE(out.empty());
  }
}

TEST_F(copy_text_test, says_no_value_in_an_error) {
  const auto done = append_copy_row(out, shape_of(1), "secret\tsecret\n");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().detail.find("secret"), std::string::npos);
}

} // namespace
} // namespace cdc::sources::postgres
