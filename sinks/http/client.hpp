#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/secret.hpp"
#include "config/server_url.hpp"
#include "messages/error.hpp"

namespace cdc::sinks::http {

struct client_options {
  std::vector<config::server_url>
      servers; ///< At least one. Each is tried when the one before cannot be reached.
  config::secret authorization; ///< The header's value; empty: none.
  bool verify = true;           ///< TLS: the server's certificate and name.
  std::string ca_file;          ///< Empty: the system's.
  std::size_t connections = 1;
  bool gzip = false; ///< Bodies that are worth it are sent compressed.
  std::chrono::milliseconds connect_time{10'000};
  std::chrono::milliseconds answer_time{
      120'000}; ///< From the first byte sent to the last received.
  std::size_t answer_bytes_max = std::size_t{256} << 20;
};

/// One request. Its body is not copied: `owner` keeps it alive until the answer.
struct request {
  std::string_view method = "GET"; ///< A literal.
  std::string target = "/";
  std::string_view body{};
  std::shared_ptr<const void> owner{};
  std::string_view content_type = "application/json"; ///< A literal.
};

struct response {
  unsigned status = 0;
  bool is_elasticsearch = false; ///< It names itself by the header X-elastic-product.
  std::string body;
};

/// A few keep-alive connections to one target, all on one thread of its own, on which every
/// callback runs.
///
/// A request that fails on a connection which was kept from before is sent once more on a new one:
/// whoever sends must be able to bear that. The destructor cancels, lets every callback run, and
/// joins.
class client {
public:
  using answer = std::function<void(result<response>)>;

  virtual ~client() = default;

  /// From any thread: runs `work` on the client's thread.
  virtual void run(std::function<void()> work) = 0;
  /// On the client's thread: the same, after a while, or at once when cancelled.
  virtual void after(std::chrono::milliseconds wait, std::function<void()> work) = 0;
  /// On the client's thread: sends when a connection is free, in the order of the calls. Any status
  /// is an answer. No answer is errc::target_unavailable, an untrusted certificate
  /// errc::target_misconfigured.
  virtual void send(request what, answer done) = 0;
  /// From any thread: everything that is open, and all that comes later, ends with errc::cancelled.
  virtual void cancel() noexcept = 0;
};

[[nodiscard]] std::unique_ptr<client> make_client(client_options options);

} // namespace cdc::sinks::http
