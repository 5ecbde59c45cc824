#pragma once

#include <cstdint>
#include <span>

#include "messages/error.hpp"
#include "sources/postgres/catch_up_plan.hpp"
#include "sources/postgres/copy_binary.hpp"
#include "sources/postgres/polled_connection.hpp"
#include "sources/postgres/stream_core.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// The rows of one call after the other: from a connection's COPY into a core.
class pulled_rows {
public:
  /// A call is made.
  void begin(clock::time_point now) noexcept;

  enum class got : std::uint8_t {
    full,    ///< The core's block is.
    held,    ///< A row waits for a shape.
    nothing, ///< The socket is empty.
    end,     ///< Of the call.
  };
  /// Feeds what the connection has.
  [[nodiscard]] result<got> take(polled_connection& from, stream_core& into, clock::time_point now);

  /// The call is over; what it was like.
  [[nodiscard]] call_size::call end(clock::time_point now) const noexcept;

  [[nodiscard]] bool any() const noexcept { return rows_ > 0; }
  [[nodiscard]] bool holds() const noexcept { return !held_.empty(); }

private:
  [[nodiscard]] result<got> take_buffered(polled_connection& from, stream_core& into,
                                          clock::time_point now);
  [[nodiscard]] result<got> next_row(polled_connection& from, clock::time_point now);

  copy_binary format_;
  std::span<const std::byte> held_; ///< Not fed yet.
  std::uint64_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  clock::time_point began_;
  clock::time_point first_at_;
};

} // namespace cdc::sources::postgres
