#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <sqlite3.h>

#include "config/config.hpp"
#include "sinks/make_sink.hpp"
#include "tests/contract/sink_contract.hpp"

namespace cdc::contract {

/// A connection of a test's own: what any other program at the database is.
class reader {
public:
  explicit reader(const std::filesystem::path& file) {
    sqlite3_open_v2(file.c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr);
    sqlite3_busy_timeout(db_, 5000);
  }
  ~reader() { sqlite3_close_v2(db_); }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  void execute(const std::string& sql) {
    char* message = nullptr;
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message);
    EXPECT_EQ(code, SQLITE_OK) << sql << ": " << (message ? message : "");
    sqlite3_free(message);
  }

  /// Values as their bytes, nothing for NULL.
  shown_rows query(const std::string& sql) {
    shown_rows out;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(db_);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      shown_row values;
      for (int i = 0; i < sqlite3_column_count(statement); ++i)
        values.push_back(shown(statement, i));
      out.insert(std::move(values));
    }
    sqlite3_finalize(statement);
    return out;
  }

  std::string one(const std::string& sql) {
    const auto found = query(sql);
    EXPECT_EQ(found.size(), 1U) << sql;
    return found.empty() ? std::string() : found.begin()->front().value_or("NULL");
  }

private:
  static std::optional<std::string> shown(sqlite3_stmt* from, int column) {
    if (sqlite3_column_type(from, column) == SQLITE_NULL)
      return std::nullopt;
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(from, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(from, column));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
  }

  sqlite3* db_ = nullptr;
};

inline config::target_config sqlite_config(const std::filesystem::path& file) {
  config::target_config out;
  out.what = config::target_config::flavor::sqlite;
  out.path = file.string();
  return out;
}

class sqlite_under_test final : public target_under_test {
public:
  explicit sqlite_under_test(const std::filesystem::path& folder) : file_(folder / "t.db") {}

  std::unique_ptr<sinks::sink> make() override {
    return std::move(*sinks::make_sink(sqlite_config(file_)));
  }
  shown_rows rows(const target_table_ptr& table) override {
    return reader(file_).query("SELECT * FROM \"" + table->name + "\"");
  }
  void break_lock() override { std::filesystem::remove(file_.string() + ".lock"); }

private:
  std::filesystem::path file_;
};

} // namespace cdc::contract
