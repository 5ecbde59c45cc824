#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "messages/error.hpp"

namespace cdc::sinks::sqlite {

/// How a connection behaves; the values are the measured ones of docs/performance.md.
struct database_options {
  int cache_kib = 16 * 1024;
  int checkpoint_pages = 4000;                ///< wal_autocheckpoint.
  std::chrono::milliseconds busy_max{10'000}; ///< How long another writer may hold us up.
};

/// A connection to one file, used by one thread; interrupt() alone may be called from any.
class database {
public:
  database() = default;
  ~database() { close(); }
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  /// Opens or creates the file for writing, in WAL mode. Every error names the file.
  [[nodiscard]] result<void> open(const std::filesystem::path& file,
                                  const database_options& options);
  /// Opens an existing file for reading alone; takes no lock that a writer could feel.
  [[nodiscard]] result<void> open_for_reading(const std::filesystem::path& file);
  void close() noexcept;

  /// Runs statements that return nothing of interest.
  [[nodiscard]] result<void> execute(const char* sql);
  [[nodiscard]] result<void> execute(const std::string& sql) { return execute(sql.c_str()); }

  /// Everything committed so far survives a power loss from here on.
  [[nodiscard]] result<void> sync();

  /// What `code`, just returned by this connection, means to an operator.
  [[nodiscard]] error explain(int code, std::string_view doing) const;

  /// From any thread, for good.
  void interrupt() noexcept;
  [[nodiscard]] bool is_interrupted() const noexcept {
    return is_interrupted_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }
  [[nodiscard]] bool inside_transaction() const noexcept {
    return handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0;
  }

private:
  [[nodiscard]] result<void> connect(const std::filesystem::path& file, int flags);
  [[nodiscard]] result<void> set_up(const database_options& options);
  [[nodiscard]] result<void> enter_wal_mode();
  static int on_busy(void* self, int attempts);

  std::mutex mutex_; ///< Of handle_, against interrupt().
  sqlite3* handle_ = nullptr;
  std::string file_;
  std::chrono::milliseconds busy_max_{0};
  std::atomic<bool> is_interrupted_{false};
};

/// An identifier as SQL: always quoted, quotes doubled.
[[nodiscard]] std::string sql_name(std::string_view name);

} // namespace cdc::sinks::sqlite
