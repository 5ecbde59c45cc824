#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/board.hpp"
#include "actors/http/route.hpp"
#include "messages/error.hpp"

namespace cdc::actors::http {

/// What /synced has to ask of a pipeline's servers. Each may block, for some seconds at most.
struct sync_door {
  std::string name; ///< The pipeline's.
  std::function<std::optional<position>(std::string_view)> parse;
  position_speller spell = spell_token;
  std::function<result<position>()> current; ///< Where the source's log ends now.
  std::function<result<void>()> nudge;       ///< Moves the log on, so that an idle one is passed.
  /// Makes what was written to these names of a sink visible to searches.
  std::function<result<void>(std::size_t sink, const std::vector<std::string>& names)> refresh;
};

/// A request for /synced, read.
struct sync_request {
  std::string source{};
  std::optional<std::string> position{};
  std::chrono::milliseconds timeout{5000};
  bool refresh = false;
};

inline constexpr std::chrono::milliseconds sync_timeout_max{30'000};

/// The error is the response.
[[nodiscard]] tl::expected<sync_request, response>
read_sync_request(std::string_view target, const std::vector<std::string>& sources);

/// Answers GET /synced: waits until a pipeline's targets have acknowledged a position.
///
/// Two threads of its own, one that waits for positions and one that asks servers, so that no
/// scheduler and no listener is held up.
class sync_service {
public:
  using answer = std::function<void(response)>;

  sync_service(std::shared_ptr<const board> of, std::vector<sync_door> doors);
  /// Lets go of what waits; no answer is given any more.
  ~sync_service();
  sync_service(const sync_service&) = delete;
  sync_service& operator=(const sync_service&) = delete;

  /// From any thread; `done` is called once, from another one. With a token every request needs it.
  void respond(const request& asked, std::string_view token, answer done);

private:
  class state;
  std::unique_ptr<state> state_;
};

} // namespace cdc::actors::http
