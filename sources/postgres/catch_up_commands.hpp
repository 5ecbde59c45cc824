#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/position.hpp"

/// What catch_up_reader says to the server.
namespace cdc::sources::postgres {

/// A backend that works on a call notices only by this that its client is gone.
constexpr auto settle_command = "SET client_connection_check_interval = '500ms'";

/// `copy` ends with the connection.
[[nodiscard]] std::string copy_command(const std::string& slot, const std::string& copy);

/// Moves a slot, or a copy, to a position.
[[nodiscard]] std::string advance_command(const std::string& slot, position to);

struct pull_call {
  position until; ///< The log is read up to the record that ends behind this.
  std::uint32_t rows = 0;
};

/// One call: the messages of the output plugin as the rows of a binary COPY.
[[nodiscard]] std::string call_command(const std::string& copy, const pull_call& call,
                                       const std::vector<std::string>& publications);

} // namespace cdc::sources::postgres
