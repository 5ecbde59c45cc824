#pragma once

#include <string>
#include <string_view>

#include "messages/error.hpp"

struct pg_conn;
struct pg_result;

namespace cdc::sources::postgres {

/// Errors of libpq in our words. `server` is conninfo::describe(); `doing` is what was tried, in
/// the form `read the catalogue` (it follows "cannot"). The detail names server, SQLSTATE and,
/// where the state says it, what to change. It repeats the server's primary message only, and not
/// even that where it would quote a value (classes 22 and 23).

/// Of a connection that did not come about. It must have been given PQERRORS_VERBOSE right after
/// PQconnectStartParams(), or the SQLSTATE is not known.
[[nodiscard]] error connect_error(const pg_conn* from, std::string_view server);

/// Of a connection that broke, or on which libpq itself failed.
[[nodiscard]] error broken_connection(const pg_conn* from, std::string_view server,
                                      std::string_view doing);

/// Of a statement that the server refused.
[[nodiscard]] error statement_error(const pg_result* from, std::string_view server,
                                    std::string_view doing);

/// What a SQLSTATE means to us.
[[nodiscard]] errc errc_of(std::string_view sqlstate) noexcept;

} // namespace cdc::sources::postgres
