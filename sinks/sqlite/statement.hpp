#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "messages/error.hpp"
#include "sinks/sqlite/database.hpp"

namespace cdc::sinks::sqlite {

/// A prepared statement. Parameters count from 1; columns from 0. Bound bytes are not copied: they
/// must live until the next run() is over.
class statement {
public:
  statement() = default;

  [[nodiscard]] static result<statement> prepare(database& db, const std::string& sql);

  void bind(int at, std::int64_t value) noexcept { sqlite3_bind_int64(get(), at, value); }
  void bind(int at, std::string_view text) noexcept;
  void bind_blob(int at, std::string_view bytes) noexcept;
  void bind_null(int at) noexcept { sqlite3_bind_null(get(), at); }

  /// Runs a statement without rows once, and makes it ready for the next time.
  [[nodiscard]] result<void> run(database& db, std::string_view doing);

  /// The next row: true, or false behind the last one. reset() before the next use.
  [[nodiscard]] result<bool> step(database& db, std::string_view doing);
  void reset() noexcept { sqlite3_reset(get()); }

  /// Calls `row` for each row that is left, for its columns to be read.
  template <class Row>
  [[nodiscard]] result<void> for_each_row(database& db, std::string_view doing, Row row) {
    auto more = step(db, doing);
    for (; more && *more; more = step(db, doing))
      row();
    return more.map([](bool) {});
  }

  [[nodiscard]] std::int64_t integer(int column) const noexcept {
    return sqlite3_column_int64(get(), column);
  }
  /// Text or blob, as its bytes.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const noexcept {
    return sqlite3_column_type(get(), column) == SQLITE_NULL;
  }

  [[nodiscard]] sqlite3_stmt* get() const noexcept { return handle_.get(); }

private:
  struct finalize {
    void operator()(sqlite3_stmt* it) const noexcept { sqlite3_finalize(it); }
  };
  std::unique_ptr<sqlite3_stmt, finalize> handle_;
};

} // namespace cdc::sinks::sqlite
