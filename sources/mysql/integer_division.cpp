#include "sources/mysql/integer_division.hpp"

#include <algorithm>

namespace cdc::sources::mysql {

namespace {

constexpr std::uint64_t parts_max = 64;

std::uint64_t parts_of(const key_span& span, std::uint64_t rows_each) {
  const auto wanted = (span.rows + rows_each - 1) / rows_each;
  const auto steps = span.last - span.first; // One less than there are keys.
  return std::min({wanted, parts_max, steps < parts_max ? steps + 1 : parts_max});
}

std::vector<key_span> cut(const key_span& span, std::uint64_t parts) {
  // By this width and no remainder to spare, the last one takes what is left.
  const auto width = std::max<std::uint64_t>(1, (span.last - span.first) / parts);
  std::vector<key_span> out;
  auto first = span.first;
  for (std::uint64_t i = 0; i < parts && first <= span.last; ++i) {
    const auto is_last = i + 1 == parts || span.last - first < width;
    const auto last = is_last ? span.last : first + width - 1;
    out.push_back({first, last, 0});
    if (is_last)
      break;
    first = last + 1;
  }
  return out;
}

void add(std::vector<key_span>& out, const key_span& next, std::uint64_t rows_each) {
  if (!out.empty() && out.back().rows + next.rows <= rows_each) {
    out.back().last = next.last;
    out.back().rows += next.rows;
    return;
  }
  out.push_back(next);
}

} // namespace

result<std::vector<key_span>> divide(const key_span& whole, std::uint64_t rows_each,
                                     const row_estimate& ask) {
  auto questions = whole.rows / rows_each * 4 + 4 * parts_max;
  std::vector<key_span> out;
  std::vector<key_span> left{whole};
  while (!left.empty()) {
    const auto span = left.back();
    left.pop_back();
    const auto parts = span.rows <= rows_each + rows_each / 2 ? 1 : parts_of(span, rows_each);
    if (parts < 2 || parts > questions) {
      add(out, span, rows_each);
      continue;
    }
    auto pieces = cut(span, parts);
    questions -= pieces.size();
    for (auto& piece : pieces) {
      const auto rows = ask(piece.first, piece.last);
      if (!rows)
        return tl::unexpected(rows.error());
      piece.rows = *rows;
    }
    left.insert(left.end(), pieces.rbegin(), pieces.rend());
  }
  return out;
}

} // namespace cdc::sources::mysql
