#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actors/board_view.hpp"
#include "actors/flow.hpp"

namespace cdc::actors::http {

/// What routing needs of a request.
struct request {
  std::string_view method{};
  std::string_view target{};
  std::string_view authorization{}; ///< The header's value; empty: none.
  bool has_body = false;
};

struct response {
  unsigned status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body{};
  std::string_view allow{}; ///< For 405.
  bool wants_token = false; ///< For 401: say how to give one.
};

/// Where looks at the board come from; asked only by a route that needs one.
class look {
public:
  virtual ~look() = default;
  [[nodiscard]] virtual const board_view& board() = 0;
  [[nodiscard]] virtual const flow_view& flow() = 0;
};

/// Answers one request. Pure. An empty `token`: none is asked for. With one, everything but
/// /healthz and the page at / (which holds no data) needs `Authorization: Bearer <token>`.
[[nodiscard]] response respond(const request& asked, look& at, std::string_view token);

/// What is wrong with a request whatever its path: its method, a body, a missing token.
[[nodiscard]] std::optional<response> refusal_of(const request& asked, std::string_view token);

/// Equal or not, in a time that tells nothing of where they differ.
[[nodiscard]] bool is_same_secret(std::string_view given, std::string_view wanted) noexcept;

} // namespace cdc::actors::http
