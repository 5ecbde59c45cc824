#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <tl/expected.hpp>

namespace cdc {

/// What went wrong. One flat list for the whole program: an operator greps for the name.
enum class errc : std::uint8_t {
  invalid_config = 1,   ///< The file or the command line says something that cannot be.
  source_unavailable,   ///< The source cannot be reached, or a connection to it broke.
  source_misconfigured, ///< wal_level, a missing table, publication members: a person changes it.
  permission_denied,    ///< A right or a password is missing; the detail says which SQL grants it.
  slot_in_use,          ///< Another reader holds the slot; it may let go soon.
  position_lost,        ///< The log no longer has what we need: slot lost, dropped or recreated.
  foreign_stream,       ///< A checkpoint, slot or server belongs to another stream.
  identity_missing,     ///< A row cannot be told from others: no key, REPLICA IDENTITY NOTHING.
  malformed_message,    ///< Bytes that the protocol does not allow. Rebuilt from the checkpoint.
  target_unavailable,   ///< The target cannot be reached, is locked or busy, or is out of space.
  target_misconfigured, ///< Shape, right or file at the target that a person has to change.
  target_stale,         ///< The target is older than what the source still has.
  row_refused,          ///< The target refuses one row for good.
  fenced,               ///< A newer life or another process writes this stream now.
  cancelled,            ///< Stopped on purpose.
  invariant_broken,     ///< A bug of ours, noticed. Nothing was written from it.
};

/// What the pipeline does about it. The only question a caller asks of an error.
enum class reaction : std::uint8_t {
  retry,      ///< The same request may succeed later.
  restart,    ///< Tear the pipeline down and resume from the last checkpoint.
  quarantine, ///< Record the row, then go on.
  halt,       ///< Stop and wait for a person.
};

struct error {
  errc code = errc::invariant_broken;
  std::string detail; ///< One sentence for the operator. Never a secret, never a cell value.

  bool operator==(const error&) const = default;
};

template <class T>
using result = tl::expected<T, error>;

/// Makes the unexpected side of a result: `return fail(errc::position_lost, "slot {} …", slot);`
template <class... Args>
[[nodiscard]] auto fail(errc code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(error{code, fmt::format(format, std::forward<Args>(args)...)});
}

[[nodiscard]] std::string_view to_string(errc code) noexcept;
[[nodiscard]] std::string_view to_string(reaction what) noexcept;
[[nodiscard]] reaction reaction_to(errc code) noexcept;

} // namespace cdc
