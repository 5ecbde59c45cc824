#pragma once

#include <optional>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/postgres/polled_connection.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// Asks once, over a connection of its own and without waiting, how far the server's log goes: what
/// a walsender does not say while it is behind.
class log_probe {
public:
  explicit log_probe(conninfo to);

  /// None: not yet. An error: it came to nothing.
  [[nodiscard]] result<std::optional<position>> advance(clock::time_point now);

private:
  [[nodiscard]] result<std::optional<position>> take_answer();

  polled_connection on_;
  bool asked_ = false;
};

} // namespace cdc::sources::postgres
