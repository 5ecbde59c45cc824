#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "sources/postgres/conninfo.hpp"

struct pg_conn;
struct pg_result;

namespace cdc::sources::postgres {

/// Ends blocking calls from another thread. Raised once, for good; it outlives the connections it
/// stops and may be raised before they exist.
class stop_signal {
public:
  stop_signal();
  ~stop_signal();
  stop_signal(const stop_signal&) = delete;
  stop_signal& operator=(const stop_signal&) = delete;

  void raise() noexcept;
  [[nodiscard]] bool raised() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; } ///< Readable once raised.

private:
  int descriptor_ = -1;
};

/// What a query returned, in text form. Row and column numbers are not checked.
class rows {
public:
  explicit rows(pg_result* from) : from_(from) {}

  [[nodiscard]] int size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] int columns() const noexcept;
  [[nodiscard]] bool is_null(int row, int column) const noexcept;
  [[nodiscard]] std::string_view text(int row, int column) const noexcept; ///< NULL: empty.
  [[nodiscard]] bool flag(int row, int column) const noexcept { return text(row, column) == "t"; }

  /// A number in its text form; 0 where there is none.
  template <class T>
  [[nodiscard]] T number(int row, int column) const noexcept {
    const auto from = text(row, column);
    T out = 0;
    std::from_chars(from.data(), from.data() + from.size(), out);
    return out;
  }

private:
  struct clear {
    void operator()(pg_result* from) const noexcept;
  };
  std::unique_ptr<pg_result, clear> from_;
};

/// One connection with blocking calls. Belongs to one thread; a stop_signal ends what it waits for
/// with errc::cancelled from any other, and the connection is of no use afterwards.
class connection {
public:
  /// `stop` may be null. Connects within conninfo::connect_timeout().
  [[nodiscard]] static result<connection> open(const conninfo& to,
                                               std::shared_ptr<const stop_signal> stop = nullptr);

  connection(connection&&) noexcept = default;
  connection& operator=(connection&&) noexcept = default;

  /// One statement with parameters $1, $2 … in text form. `doing` as in errors.hpp.
  [[nodiscard]] result<rows> query(const std::string& sql, std::span<const std::string> parameters,
                                   std::string_view doing);
  /// Statements separated by `;`, or a command of the replication protocol; the last one's rows.
  [[nodiscard]] result<rows> run(const std::string& sql, std::string_view doing);
  /// The same; while the server takes its time, `meanwhile` runs every `each`.
  [[nodiscard]] result<rows> run(const std::string& sql, std::string_view doing,
                                 std::chrono::milliseconds each,
                                 const std::function<void()>& meanwhile);
  /// The same for several statements, whose rows are all wanted: one element a statement.
  [[nodiscard]] result<std::vector<rows>> run_all(const std::string& sql, std::string_view doing);

  /// Starts `COPY … TO STDOUT`; then copy_row() until it gives none.
  [[nodiscard]] result<void> begin_copy(const std::string& sql, std::string_view doing);
  /// One row of COPY text with its newline, valid until the next call; false at the end, when the
  /// statement has succeeded.
  [[nodiscard]] result<bool> copy_row(std::string_view& row);
  [[nodiscard]] bool copying() const noexcept { return copying_; }

  [[nodiscard]] int server_version() const noexcept; ///< 150004 is 15.4.
  [[nodiscard]] int backend_pid() const noexcept;
  [[nodiscard]] const std::string& describe() const noexcept { return description_; }
  [[nodiscard]] bool broken() const noexcept;

private:
  struct finish {
    void operator()(pg_conn* from) const noexcept;
  };
  struct free_memory {
    void operator()(char* from) const noexcept;
  };

  connection(pg_conn* from, std::string description, std::shared_ptr<const stop_signal> stop);

  [[nodiscard]] result<void> establish(std::chrono::seconds timeout);
  [[nodiscard]] result<std::vector<rows>> results(std::string_view doing,
                                                  std::chrono::milliseconds each,
                                                  const std::function<void()>* meanwhile);
  [[nodiscard]] result<void> await_result(std::string_view doing, std::chrono::milliseconds each,
                                          const std::function<void()>* meanwhile);
  [[nodiscard]] result<void> end_copy();
  void request_cancel() noexcept;
  [[nodiscard]] error stopped();
  [[nodiscard]] error broke(std::string_view doing) const;

  std::unique_ptr<pg_conn, finish> from_;
  std::string description_;
  std::shared_ptr<const stop_signal> stop_;
  std::unique_ptr<char, free_memory> row_;
  std::string doing_; ///< Of the COPY under way.
  bool copying_ = false;
};

/// `"a""b"`: an identifier as SQL takes it, whatever it holds.
[[nodiscard]] std::string quote_identifier(std::string_view name);
/// `'a''b'`: a string literal under standard_conforming_strings, which every connection has on.
[[nodiscard]] std::string quote_literal(std::string_view text);

} // namespace cdc::sources::postgres
