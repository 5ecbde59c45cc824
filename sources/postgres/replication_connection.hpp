#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/postgres/polled_connection.hpp"
#include "sources/source.hpp"

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

  enum class state : std::uint8_t {
    waiting,
    identified, ///< log_end() is known; connect() again starts the stream.
    streaming,
  };
  /// Goes on with connecting as far as it can without waiting.
  [[nodiscard]] result<state> connect(clock::time_point now);

  /// Where the server's log ended when it was identified: what it had flushed.
  [[nodiscard]] position log_end() const noexcept { return log_end_; }

  [[nodiscard]] std::size_t input() const noexcept { return on_.input(); }
  [[nodiscard]] result<void> check() const { return on_.check(); }
  [[nodiscard]] result<void> read() { return on_.read(); }
  [[nodiscard]] bool emptied_by(std::size_t got) const noexcept { return on_.emptied_by(got); }
  [[nodiscard]] bool is_encrypted() const noexcept { return on_.is_encrypted(); }
  /// The next whole message that was taken; none: read() on. It lives until the next call.
  [[nodiscard]] result<std::optional<std::span<const std::byte>>> next_message();

  [[nodiscard]] result<void> send(std::span<const std::byte> message) { return on_.put(message); }
  [[nodiscard]] result<void> flush() { return on_.flush(); }

  /// Says goodbye and lets go, without waiting for the server.
  void close() noexcept;

  [[nodiscard]] int socket() const noexcept { return on_.socket(); }
  /// Of the walsender, by which others know the slot's reader.
  [[nodiscard]] int backend_pid() const noexcept { return on_.backend_pid(); }
  [[nodiscard]] const std::string& describe() const noexcept { return on_.describe(); }
  /// While connecting, and for what flush() has left over.
  [[nodiscard]] short wants_events() const noexcept { return on_.wants_events(); }
  [[nodiscard]] clock::time_point deadline() const noexcept { return on_.connect_by(); }

private:
  enum class phase : std::uint8_t { connecting, identifying, identified, starting, streaming };

  [[nodiscard]] result<void> go_on(clock::time_point now);
  [[nodiscard]] result<void> command(const std::string& text, phase next);
  [[nodiscard]] result<void> await_identity();
  [[nodiscard]] result<void> await_start();
  [[nodiscard]] result<void> check_identity(const pg_result* answer);
  [[nodiscard]] error start_error(const pg_result* answer) const;
  [[nodiscard]] error ended();
  [[nodiscard]] std::string start_command() const;

  stream_request request_;
  polled_connection on_;
  phase phase_ = phase::connecting;
  position log_end_;
};

/// `'"a","b"'`: the publications, as the output plugin's option takes them, quoted for SQL.
[[nodiscard]] std::string publication_option(const std::vector<std::string>& publications);

} // namespace cdc::sources::postgres
