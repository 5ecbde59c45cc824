#pragma once

#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "messages/position.hpp"

namespace cdc::sources::postgres {

/// A position is a log sequence number as it stands. Versions leave 13 bits for what they add, so a
/// log of 2 PiB is where this ends; a server that is further is refused where its positions enter.
inline constexpr position position_limit{std::uint64_t{1} << 51};

/// As PostgreSQL prints it: two hexadecimal halves, `16/B374D848`.
[[nodiscard]] std::string to_lsn(position at);

/// Reads that form and nothing else; errc::malformed_message.
[[nodiscard]] result<position> parse_lsn(std::string_view text);

} // namespace cdc::sources::postgres
