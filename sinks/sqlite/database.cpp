#include "sinks/sqlite/database.hpp"

#include <thread>

namespace cdc::sinks::sqlite {

namespace {

constexpr std::chrono::milliseconds busy_step{2};

errc meaning(int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_INTERRUPT:
      return errc::cancelled;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_PROTOCOL:
      return errc::target_unavailable;
    case SQLITE_TOOBIG:
      return errc::row_refused;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_INTERNAL:
      return errc::invariant_broken;
    default:
      return errc::target_misconfigured;
  }
}

/// Words for what a person can act on; SQLite's own message for the rest. None holds a value.
std::string words(int code, const char* message) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
      return "another program keeps the database locked";
    case SQLITE_FULL:
      return "no space is left on the disk";
    case SQLITE_IOERR:
      return fmt::format("reading or writing the file failed ({})", sqlite3_errstr(code));
    case SQLITE_READONLY:
      return "the file or its folder may not be written";
    case SQLITE_NOTADB:
      return "the file is not a SQLite database";
    case SQLITE_CORRUPT:
      return fmt::format("the database is damaged ({})", message);
    case SQLITE_CANTOPEN:
      return "the file cannot be opened or created";
    case SQLITE_INTERRUPT:
      return "stopped";
    default:
      return message;
  }
}

} // namespace

result<void> database::open(const std::filesystem::path& file, const database_options& options) {
  return connect(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).and_then([&] {
    return set_up(options);
  });
}

result<void> database::open_for_reading(const std::filesystem::path& file) {
  busy_max_ = std::chrono::seconds(2);
  return connect(file, SQLITE_OPEN_READONLY);
}

result<void> database::connect(const std::filesystem::path& file, int flags) {
  close();
  file_ = file.string();
  sqlite3* opened = nullptr;
  // One thread uses it, so the library's own mutexes would only cost.
  const int code = sqlite3_open_v2(file_.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  {
    const std::lock_guard lock(mutex_);
    handle_ = opened;
  }
  if (code != SQLITE_OK) {
    auto why = explain(code, "opening it");
    close();
    return tl::unexpected(std::move(why));
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_handler(handle_, &database::on_busy, this);
  return {};
}

result<void> database::set_up(const database_options& options) {
  busy_max_ = options.busy_max;
  if (sqlite3_db_readonly(handle_, "main") == 1)
    return tl::unexpected(explain(SQLITE_READONLY, "opening it"));
  return enter_wal_mode().and_then([&] {
    // FAST: freed space is overwritten where that costs no I/O of its own.
    return execute(fmt::format("PRAGMA synchronous=NORMAL; PRAGMA cache_size=-{}; "
                               "PRAGMA wal_autocheckpoint={}; PRAGMA secure_delete=FAST; "
                               "PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY",
                               options.cache_kib, options.checkpoint_pages));
  });
}

result<void> database::enter_wal_mode() {
  std::string mode;
  const auto read = [](void* out, int, char** values, char**) {
    *static_cast<std::string*>(out) = values[0];
    return 0;
  };
  const int code = sqlite3_exec(handle_, "PRAGMA journal_mode=WAL", read, &mode, nullptr);
  if (code != SQLITE_OK)
    return tl::unexpected(explain(code, "switching to WAL mode"));
  if (mode != "wal")
    return fail(
        errc::target_misconfigured,
        "{}: its file system does not support SQLite's WAL mode (the journal mode stays {})", file_,
        mode);
  return {};
}

void database::close() noexcept {
  const std::lock_guard lock(mutex_);
  // An interruption stays until the next statement begins, and would keep the close from writing
  // the WAL back: a stopped pipeline's file alone must hold everything.
  if (handle_ != nullptr)
    sqlite3_exec(handle_, "SELECT 1", nullptr, nullptr, nullptr);
  // Statements must be finalized before; what is open is rolled back here.
  sqlite3_close_v2(handle_);
  handle_ = nullptr;
}

result<void> database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK)
    return tl::unexpected(explain(code, "running its set-up"));
  return {};
}

// A commit syncs nothing under synchronous=NORMAL. What it wrote is in the WAL, or a checkpoint has
// synced both files; so syncing the WAL is all that is left to do.
result<void> database::sync() {
  sqlite3_file* log = nullptr;
  int code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code == SQLITE_OK)
    code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
  if (code != SQLITE_OK)
    return tl::unexpected(explain(code, "syncing its WAL"));
  return {};
}

error database::explain(int code, std::string_view doing) const {
  const char* message = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  return {meaning(code), fmt::format("{}: {} failed: {}", file_, doing, words(code, message))};
}

void database::interrupt() noexcept {
  is_interrupted_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (handle_ != nullptr)
    sqlite3_interrupt(handle_);
}

/// SQLite's own waiting cannot be interrupted; ours ends with the wait or with the sink.
int database::on_busy(void* self, int attempts) {
  const auto& db = *static_cast<database*>(self);
  if (db.is_interrupted() || busy_step * attempts >= db.busy_max_)
    return 0;
  std::this_thread::sleep_for(busy_step);
  return 1;
}

std::string sql_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"')
      out += '"';
    out += c;
  }
  return out += '"';
}

} // namespace cdc::sinks::sqlite
