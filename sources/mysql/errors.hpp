#pragma once

#include <string_view>

#include "messages/error.hpp"

struct st_mysql;

namespace cdc::sources::mysql {

/// Errors of the client library in our words. `server` is endpoint::describe(); `doing` is what was
/// tried, in the form `read the catalogue` (it follows "cannot"). The detail names server, error
/// number and, where the number says it, what to change.

/// Of a connection that did not come about.
[[nodiscard]] error connect_error(st_mysql* from, std::string_view server);

/// Of a statement that the server refused, or on which the connection broke.
[[nodiscard]] error statement_error(st_mysql* from, std::string_view server,
                                    std::string_view doing);

/// What an error number, the server's or the library's, means to us.
[[nodiscard]] errc errc_of(unsigned number) noexcept;

/// Whether the number is the library's own: the connection is of no use any more.
[[nodiscard]] bool is_broken(unsigned number) noexcept;

} // namespace cdc::sources::mysql
