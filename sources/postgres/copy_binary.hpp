#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "messages/error.hpp"

/// `COPY (…) TO STDOUT (FORMAT binary)` of one column that is never NULL.
/// PostgreSQL's manual: "COPY", Binary Format.
namespace cdc::sources::postgres {

/// Takes the CopyData messages of one COPY in their order: the file's header comes before the
/// first row, in a message of its own or with it, and a trailer behind the last.
class copy_binary {
public:
  /// A new COPY begins.
  void begin() noexcept { has_begun_ = false; }

  /// The row's value; it lives as long as the message. None: the message carries no row.
  /// errc::malformed_message for what is none, cut short or too long.
  [[nodiscard]] result<std::optional<std::span<const std::byte>>>
  take(std::span<const std::byte> message);

private:
  bool has_begun_ = false;
};

} // namespace cdc::sources::postgres
