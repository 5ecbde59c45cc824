#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cdc::config {

/// What the reader has to know of a PostgreSQL connection string: a `postgresql://` URL or libpq's
/// `key=value` text. It is no full check; libpq has the last word when it connects.
struct connection_text {
  bool is_url = false;
  std::string server; ///< `host:port`, hosts as written; the same text is the same server.
  std::map<std::string, std::string> parameters; ///< Decoded. Of a URL: those behind the `?`.
};

/// Nothing when it is neither of the two.
[[nodiscard]] std::optional<connection_text> look_into(std::string_view text);

/// The text with one parameter that wins over an earlier one of its name. Text that look_into()
/// understands.
[[nodiscard]] std::string with_parameter(const std::string& text, std::string_view key,
                                         std::string_view value);

} // namespace cdc::config
