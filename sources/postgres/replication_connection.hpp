#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/postgres/conninfo.hpp"
#include "sources/source.hpp"

struct pg_conn;
struct pg_result;

namespace cdc::sources::postgres {

/// What to stream, and from where on.
struct stream_request {
  conninfo to; ///< purpose::replication.
  std::string slot;
  std::vector<std::string> publications;
  position resume;
  std::string system_identifier; ///< Another server is refused; empty: any.
};

/// A connection to a walsender that never blocks: connects, identifies the server, starts the
/// stream, then carries CopyData both ways. Belongs to one thread.
class replication_connection {
public:
  explicit replication_connection(stream_request request);

  /// Goes on with connecting as far as it can without waiting; true once the stream runs.
  [[nodiscard]] result<bool> connect(clock::time_point now);

  /// How many bytes have arrived that read() has not taken; costs a system call.
  [[nodiscard]] std::size_t input() const noexcept;
  /// Fails when the server has let go of the connection; for when nothing is read.
  [[nodiscard]] result<void> check() const;

  /// Takes what the socket has, at most a buffer full, or a record of TLS.
  [[nodiscard]] result<void> read();
  /// Bytes of the socket that TLS has taken already: no poll would tell of them.
  [[nodiscard]] bool has_decrypted() const noexcept;
  [[nodiscard]] bool is_encrypted() const noexcept;
  /// The next whole message that was taken; none: read() on. It lives until the next call.
  [[nodiscard]] result<std::optional<std::span<const std::byte>>> next_message();

  [[nodiscard]] result<void> send(std::span<const std::byte> message);
  [[nodiscard]] result<void> flush();

  /// Says goodbye and lets go, without waiting for the server.
  void close() noexcept;

  [[nodiscard]] int socket() const noexcept;
  [[nodiscard]] const std::string& describe() const noexcept { return request_.to.describe(); }
  /// While connecting, and for what flush() has left over.
  [[nodiscard]] short wants_events() const noexcept { return wants_; }
  [[nodiscard]] clock::time_point deadline() const noexcept { return connect_by_; }

private:
  enum class phase : std::uint8_t { unconnected, connecting, identifying, starting, streaming };

  [[nodiscard]] result<void> begin();
  [[nodiscard]] result<bool> poll_connect();
  [[nodiscard]] result<bool> await_identity();
  [[nodiscard]] result<bool> await_start();
  [[nodiscard]] result<bool> answer_ready();
  [[nodiscard]] result<void> command(const std::string& text, phase next);
  [[nodiscard]] result<void> check_identity(pg_result* answer) const;
  [[nodiscard]] error start_error(pg_result* answer) const;
  [[nodiscard]] error ended() const;
  [[nodiscard]] error broke() const;
  [[nodiscard]] std::string start_command() const;

  struct finish {
    void operator()(pg_conn* from) const noexcept;
  };
  struct free_memory {
    void operator()(char* from) const noexcept;
  };

  stream_request request_;
  std::unique_ptr<pg_conn, finish> from_;
  std::unique_ptr<char, free_memory> message_;
  phase phase_ = phase::unconnected;
  short wants_ = 0;
  clock::time_point connect_by_;
};

} // namespace cdc::sources::postgres
