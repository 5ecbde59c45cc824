#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/board.hpp"
#include "actors/http/synced.hpp"
#include "config/config.hpp"

namespace cdc::actors::http {

struct server_options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 9100;         ///< 0: any free one.
  config::secret token;              ///< Empty: none is asked for.
  std::size_t connections_max = 128; ///< More wait until one is done.
  std::size_t header_bytes_max = 8192;
  std::chrono::milliseconds request_time{5000}; ///< For a whole request, however it trickles in …
  std::chrono::milliseconds response_time{10000}; ///< … and for the client to take the response.
  std::chrono::milliseconds bind_again{5000};     ///< While the port is taken.
};

[[nodiscard]] server_options options_from(const config::listener_config& config);

/// Answers HTTP on a thread of its own, from the board alone: it asks no actor anything and none
/// waits for it. What has to be asked of others is asked on threads of the sync_service.
///
/// It cannot fail. A port in use, or a host that is none, is said once in the log and tried again
/// until it works. Every response closes its connection, so none is held idle.
class server {
public:
  /// `self`: where the server shows itself on the board, if it does.
  server(server_options options, std::shared_ptr<const board> of,
         std::shared_ptr<actor_stats> self = {});
  /// Answers /synced, and nothing else.
  server(server_options options, const std::shared_ptr<const board>& of,
         std::vector<sync_door> doors, std::shared_ptr<actor_stats> self = {});
  /// Cuts what is open, at once.
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// The port it listens on; 0 while it cannot.
  [[nodiscard]] std::uint16_t port() const noexcept;

private:
  class state;
  std::unique_ptr<state> state_;
};

} // namespace cdc::actors::http
