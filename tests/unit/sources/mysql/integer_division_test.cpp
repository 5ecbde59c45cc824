#include "sources/mysql/integer_division.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace cdc::sources::mysql {

namespace {

constexpr auto top = std::numeric_limits<std::uint64_t>::max();

/// Rows spread evenly between two keys.
struct even_rows {
  std::uint64_t first, last;
  double density;

  result<std::uint64_t> operator()(std::uint64_t from, std::uint64_t to) const {
    from = std::max(from, first);
    to = std::min(to, last);
    if (from > to)
      return 1; // As the servers say of nothing.
    return static_cast<std::uint64_t>(std::ceil((static_cast<double>(to - from) + 1) * density));
  }
};

void expect_no_gap(const std::vector<key_span>& spans, std::uint64_t first, std::uint64_t last) {
  ASSERT_FALSE(spans.empty());
  EXPECT_EQ(spans.front().first, first);
  EXPECT_EQ(spans.back().last, last);
  for (std::size_t i = 1; i < spans.size(); ++i)
    EXPECT_EQ(spans[i].first, spans[i - 1].last + 1);
}

} // namespace

TEST(integer_division, cuts_an_even_table_into_even_spans) {
  const auto spans = divide({1, 1'000'000, 1'000'000}, 10'000, even_rows{1, 1'000'000, 1}).value();

  expect_no_gap(spans, 1, 1'000'000);
  EXPECT_NEAR(static_cast<double>(spans.size()), 100, 40);
  for (const auto& each : spans)
    EXPECT_LE(each.rows, 15'000u);
}

TEST(integer_division, finds_the_dense_part_of_a_table_with_an_outlier) {
  const auto spans = divide({1, top, 100'000}, 1'000, even_rows{1, 100'000, 1}).value();

  expect_no_gap(spans, 1, top);
  EXPECT_GE(spans.size(), 60u);
  EXPECT_LE(spans.size(), 250u);
}

TEST(integer_division, leaves_a_single_key_whole) {
  const auto spans = divide({7, 7, 1'000'000}, 10, even_rows{7, 7, 1'000'000}).value();

  EXPECT_EQ(spans, (std::vector<key_span>{{7, 7, 1'000'000}}));
}

TEST(integer_division, ends_although_every_answer_is_the_whole_table) {
  std::size_t asked = 0;
  const auto spans = divide({0, top, 1'000'000}, 1'000,
                            [&](auto, auto) -> result<std::uint64_t> {
                              ++asked;
                              return 1'000'000;
                            })
                         .value();

  expect_no_gap(spans, 0, top);
  EXPECT_LE(asked, 4'300u);
}

TEST(integer_division, puts_empty_spans_together) {
  const auto spans = divide({0, 1'000'000, 64'000}, 1'000, even_rows{0, 63'999, 1}).value();

  expect_no_gap(spans, 0, 1'000'000);
  EXPECT_LE(spans.back().rows, 1'000u);
  EXPECT_GE(spans.back().last - spans.back().first, 900'000u);
}

TEST(integer_division, hands_on_what_the_server_says) {
  const auto spans = divide({0, 10, 1'000}, 1, [](auto, auto) -> result<std::uint64_t> {
    return fail(errc::source_unavailable, "gone");
  });

  EXPECT_EQ(spans.error().code, errc::source_unavailable);
}

} // namespace cdc::sources::mysql
