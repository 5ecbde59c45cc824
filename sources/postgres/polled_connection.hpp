#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "sources/postgres/conninfo.hpp"
#include "sources/source.hpp"

struct pg_conn;
struct pg_result;

namespace cdc::sources::postgres {

struct clear_answer {
  void operator()(pg_result* from) const noexcept;
};
using answer_ptr = std::unique_ptr<pg_result, clear_answer>;

[[nodiscard]] std::string_view sqlstate_of(const pg_result* from) noexcept; ///< Empty: none.

/// A connection that never blocks: its owner polls `socket()` for `wants_events()`. Belongs to one
/// thread. An error leaves it of no further use.
class polled_connection {
public:
  /// `doing` is what it is there for, as in errors.hpp.
  polled_connection(conninfo to, std::string doing);

  /// Goes on with connecting as far as it can without waiting; true once it stands.
  [[nodiscard]] result<bool> connect(clock::time_point now);
  /// When connecting has taken too long; expired() fails then.
  [[nodiscard]] clock::time_point connect_by() const noexcept { return connect_by_; }
  [[nodiscard]] result<void> expired(clock::time_point now) const;

  [[nodiscard]] result<void> command(const std::string& text);
  /// True when next_answer() would not wait.
  [[nodiscard]] result<bool> answer_ready();
  [[nodiscard]] answer_ptr next_answer(); ///< Null: the command is over.

  /// How many bytes have arrived that read() has not taken; costs a system call.
  [[nodiscard]] std::size_t input() const noexcept;
  /// Fails when the server has let go of the connection; for when nothing is read.
  [[nodiscard]] result<void> check() const;
  /// Takes what the socket has, at most a buffer full, or a record of TLS.
  [[nodiscard]] result<void> read();
  /// Whether the socket is empty after a read() that brought messages of `got` bytes.
  [[nodiscard]] bool emptied_by(std::size_t got) const noexcept;
  [[nodiscard]] bool is_encrypted() const noexcept;

  /// The next whole CopyData that was taken. It lives until the next call.
  struct copied {
    std::optional<std::span<const std::byte>> message; ///< None: read() on, or it is over.
    bool is_over = false;                              ///< next_answer() says how it ended.
  };
  [[nodiscard]] result<copied> next_copied();

  [[nodiscard]] result<void> put(std::span<const std::byte> message);
  [[nodiscard]] result<void> flush();
  /// Ends a COPY of both ways from this side, without waiting for the server.
  void end_copy() noexcept;
  /// Asks the server to give up the command under way; connects anew for that, and waits for it.
  void cancel() noexcept;
  void close() noexcept;

  [[nodiscard]] int socket() const noexcept;
  [[nodiscard]] int backend_pid() const noexcept;
  [[nodiscard]] int server_version() const noexcept; ///< 150004 is 15.4.
  [[nodiscard]] bool is_open() const noexcept { return from_ != nullptr; }
  [[nodiscard]] const std::string& describe() const noexcept { return to_.describe(); }
  /// While connecting or for an answer, and for what flush() has left over.
  [[nodiscard]] short wants_events() const noexcept { return wants_; }
  void wants_nothing() noexcept { wants_ = 0; }

  [[nodiscard]] error broke() const;
  [[nodiscard]] error refused(const pg_result* answer) const;

private:
  [[nodiscard]] result<void> begin();

  struct finish {
    void operator()(pg_conn* from) const noexcept;
  };
  struct free_memory {
    void operator()(char* from) const noexcept;
  };

  conninfo to_;
  std::string doing_;
  std::unique_ptr<pg_conn, finish> from_;
  std::unique_ptr<char, free_memory> message_;
  bool is_connected_ = false;
  short wants_ = 0;
  clock::time_point connect_by_;
};

} // namespace cdc::sources::postgres
