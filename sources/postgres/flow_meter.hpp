#pragma once

#include <chrono>
#include <cstddef>

#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// Tells a busy stream from one that merely has something to say.
///
/// A walsender sends every row by itself, and each send wakes a reader that waits. While bytes flow
/// it pays to let them collect; the first bytes after a silence are handled at once.
class flow_meter {
public:
  /// A drain of the socket at `now` brought `bytes`.
  void drained(std::size_t bytes, clock::time_point now) noexcept {
    const auto passed = now - drained_at_;
    level_ =
        passed >= window ? 0 : level_ - level_ * passed.count() / clock::duration{window}.count();
    level_ += static_cast<long>(bytes);
    drained_at_ = now;
  }

  /// At least about 4 MB/s over the last milliseconds.
  [[nodiscard]] bool busy() const noexcept { return level_ >= busy_level; }

private:
  static constexpr std::chrono::milliseconds window{2};
  static constexpr long busy_level = 8 << 10;

  clock::time_point drained_at_;
  long level_ = 0;
};

} // namespace cdc::sources::postgres
