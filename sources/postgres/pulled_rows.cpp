#include "sources/postgres/pulled_rows.hpp"

namespace cdc::sources::postgres {

void pulled_rows::begin(clock::time_point now) noexcept {
  format_.begin();
  rows_ = bytes_ = 0;
  began_ = now;
}

result<pulled_rows::got> pulled_rows::take(polled_connection& from, stream_core& into,
                                           clock::time_point now) {
  auto out = take_buffered(from, into, now);
  while (out && *out == got::nothing) {
    const auto before = bytes_;
    if (auto read = from.read(); !read)
      return tl::unexpected(read.error());
    out = take_buffered(from, into, now);
    if (from.emptied_by(bytes_ - before))
      break;
  }
  return out;
}

/// Feeds what libpq holds.
result<pulled_rows::got> pulled_rows::take_buffered(polled_connection& from, stream_core& into,
                                                    clock::time_point now) {
  for (;;) {
    if (into.full())
      return got::full;
    if (held_.empty()) {
      auto next = next_row(from, now);
      if (!next || *next != got::full)
        return next;
    }
    if (into.holding())
      return got::held;
    const auto fed = into.feed_data(held_, now);
    if (!fed)
      return tl::unexpected(fed.error());
    if (*fed == stream_core::fed::held)
      return got::held;
    held_ = {};
  }
}

/// got::full: there is one.
result<pulled_rows::got> pulled_rows::next_row(polled_connection& from, clock::time_point now) {
  for (;;) {
    const auto next = from.next_copied();
    if (!next)
      return tl::unexpected(next.error());
    if (!next->message)
      return next->is_over ? got::end : got::nothing;
    const auto row = format_.take(*next->message);
    if (!row)
      return tl::unexpected(row.error());
    if (!*row)
      continue;
    if (rows_++ == 0)
      first_at_ = now;
    bytes_ += (*row)->size();
    held_ = **row;
    return got::full;
  }
}

call_size::call pulled_rows::end(clock::time_point now) const noexcept {
  const auto first = rows_ > 0 ? first_at_ : now;
  return {.rows = rows_, .bytes = bytes_, .until_first = first - began_, .rest = now - first};
}

} // namespace cdc::sources::postgres
