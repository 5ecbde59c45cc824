#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "messages/error.hpp"
#include "sources/mysql/coordinates.hpp"

namespace cdc::sources::mysql {

class connection;

/// Gives the events from a place on to `take` until it says false or the log ends. The connection
/// is of no use afterwards. It is no replica's reading: no other reader is disturbed.
[[nodiscard]] result<void> glance(connection& on, const log_place& from,
                                  const std::function<bool(std::span<const std::byte>)>& take);

} // namespace cdc::sources::mysql
