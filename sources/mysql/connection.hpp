#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "sources/mysql/endpoint.hpp"
#include "sources/mysql/stop_signal.hpp"

struct st_mysql;
struct st_mysql_res;

namespace cdc::sources::mysql {

/// What a query returned, in text form. Row and column numbers are not checked.
class rows {
public:
  [[nodiscard]] std::size_t size() const noexcept {
    return columns_ ? cells_.size() / columns_ : 0;
  }
  [[nodiscard]] bool empty() const noexcept { return cells_.empty(); }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] bool is_null(std::size_t row, std::size_t column) const noexcept {
    return !cells_[row * columns_ + column];
  }
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const noexcept {
    const auto& cell = cells_[row * columns_ + column];
    return cell ? std::string_view{*cell} : std::string_view{};
  }
  /// By the column's name; nothing where there is no such column, or NULL.
  [[nodiscard]] std::string_view text(std::size_t row, std::string_view name) const noexcept;
  [[nodiscard]] bool flag(std::size_t row, std::size_t column) const noexcept;

  /// A number in its text form; 0 where there is none.
  template <class T>
  [[nodiscard]] T number(std::size_t row, std::size_t column) const noexcept {
    const auto from = text(row, column);
    T out = 0;
    std::from_chars(from.data(), from.data() + from.size(), out);
    return out;
  }

private:
  friend class connection;
  std::size_t columns_ = 0;
  std::vector<std::string> names_;
  std::vector<std::optional<std::string>> cells_;
};

/// One row of a result that is being read, valid until the next is asked for.
struct row_view {
  char** values = nullptr; ///< NULL: a null pointer.
  const unsigned long* sizes = nullptr;
  std::size_t columns = 0;

  [[nodiscard]] bool is_null(std::size_t column) const noexcept { return !values[column]; }
  [[nodiscard]] std::string_view text(std::size_t column) const noexcept {
    return {values[column], sizes[column]};
  }
};

/// Which product answers, and which of its versions: 80036 is 8.0.36, 101119 is 10.11.19.
struct server_version {
  bool is_mariadb = false;
  std::uint32_t number = 0;
  std::string text; ///< As the server says it.
};

/// One connection with blocking calls. Belongs to one thread; a stop_signal ends what it waits for
/// with errc::cancelled from any other, and the connection is of no use afterwards.
///
/// Every session has UTC, an sql_mode under which `"` quotes text and a backslash escapes, READ
/// COMMITTED, and no time limit of the server's; text comes as UTF-8 unless the session is told
/// otherwise. A dead peer ends it within seconds.
class connection {
public:
  /// `stop` may be null. Connects within endpoint::connect_timeout.
  [[nodiscard]] static result<connection> open(const endpoint& to,
                                               std::shared_ptr<stop_signal> stop = nullptr);
  /// To what [source] says; `role` as in endpoint::make().
  [[nodiscard]] static result<connection> open(const config::source_config& source,
                                               std::string_view role,
                                               std::shared_ptr<stop_signal> stop = nullptr);

  connection(connection&&) noexcept;
  connection& operator=(connection&&) noexcept;
  ~connection();

  /// One statement; its rows, if it has any. `doing` as in errors.hpp.
  [[nodiscard]] result<rows> query(std::string_view sql, std::string_view doing);
  [[nodiscard]] result<void> run(std::string_view sql, std::string_view doing);

  /// Starts a statement whose rows are then taken one by one, as they come off the socket. Nothing
  /// else may be asked before next_row() gave none or end_rows() was called.
  [[nodiscard]] result<void> begin_rows(std::string_view sql, std::string_view doing);
  /// False at the end, when the statement has succeeded.
  [[nodiscard]] result<bool> next_row(row_view& row);
  /// Reads and forgets what is left.
  [[nodiscard]] result<void> end_rows();
  [[nodiscard]] bool reading() const noexcept { return rows_ != nullptr; }

  [[nodiscard]] const server_version& version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t id() const noexcept; ///< CONNECTION_ID().
  [[nodiscard]] const std::string& describe() const noexcept { return description_; }
  [[nodiscard]] const std::string& database() const noexcept { return database_; } ///< endpoint's.
  [[nodiscard]] bool broken() const noexcept { return is_broken_; }
  [[nodiscard]] bool is_encrypted() const noexcept;

  /// The library's handle, for the protocol of replication. It stays ours.
  [[nodiscard]] st_mysql* handle() const noexcept { return from_.get(); }
  /// The error that the handle has now, or errc::cancelled when we were stopped.
  [[nodiscard]] error failure(std::string_view doing);

private:
  struct close {
    void operator()(st_mysql* from) const noexcept;
  };
  struct release {
    void operator()(st_mysql_res* from) const noexcept;
  };

  connection(st_mysql* from, const endpoint& to, std::shared_ptr<stop_signal> stop);

  [[nodiscard]] result<void> establish(const endpoint& to);
  [[nodiscard]] result<void> check_encryption(const endpoint& to) const;
  void set_options(const endpoint& to);
  void guard_socket() const noexcept;
  void read_version();
  void let_go() noexcept;

  std::unique_ptr<st_mysql, close> from_;
  std::string description_;
  std::string database_;
  std::shared_ptr<stop_signal> stop_;
  server_version version_;
  int socket_ = -1; ///< That `stop_` watches.
  std::unique_ptr<st_mysql_res, release> rows_;
  std::string doing_; ///< Of `rows_`.
  bool is_broken_ = false;
};

/// `` `a``b` ``: an identifier as SQL takes it, whatever it holds.
[[nodiscard]] std::string quote_identifier(std::string_view name);
/// `'a\'b'`: a literal of utf8mb4 text, under the sql_mode that every connection has.
[[nodiscard]] std::string quote_literal(std::string_view text);

} // namespace cdc::sources::mysql
