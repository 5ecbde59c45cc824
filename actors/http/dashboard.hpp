#pragma once

#include <string_view>

namespace cdc::actors::http {

/// One HTML page that needs nothing else: it draws what /status and /actors say, once a second. It
/// holds no data, so it is given to anyone; a token is asked for in the page.
[[nodiscard]] std::string_view dashboard_page() noexcept;

} // namespace cdc::actors::http
