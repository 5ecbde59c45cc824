#include "sinks/sqlite/statement.hpp"

namespace cdc::sinks::sqlite {

result<statement> statement::prepare(database& db, const std::string& sql) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v3(db.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  statement out;
  out.handle_.reset(made);
  if (code != SQLITE_OK)
    return tl::unexpected(db.explain(code, "preparing a statement"));
  return out;
}

// A null pointer would bind NULL: an empty value must not become one.
void statement::bind(int at, std::string_view text) noexcept {
  sqlite3_bind_text64(get(), at, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void statement::bind_blob(int at, std::string_view bytes) noexcept {
  sqlite3_bind_blob64(get(), at, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_STATIC);
}

result<void> statement::run(database& db, std::string_view doing) {
  const int code = sqlite3_step(get());
  if (code != SQLITE_DONE && code != SQLITE_ROW) {
    auto why = db.explain(code, doing);
    reset();
    return tl::unexpected(std::move(why));
  }
  reset();
  return {};
}

result<bool> statement::step(database& db, std::string_view doing) {
  const int code = sqlite3_step(get());
  if (code == SQLITE_ROW)
    return true;
  if (code == SQLITE_DONE)
    return false;
  return tl::unexpected(db.explain(code, doing));
}

std::string statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(get(), column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

} // namespace cdc::sinks::sqlite
