#include "sinks/sqlite/batch_writer.hpp"

namespace cdc::sinks::sqlite {

result<void> batch_writer::write() {
  for (const auto& it : work_.changes) {
    if (db_.is_interrupted())
      return fail(errc::cancelled, "the target was told to stop");
    auto& into = *writers_[it.table];
    if (const int code = write(it, into); code != SQLITE_DONE) [[unlikely]]
      if (auto refused = refuse(it, into, code); !refused)
        return refused;
  }
  return {};
}

int batch_writer::write(const change& it, table_writer& into) {
  switch (it.what) {
    case action::upsert:
      if (const int code = into.upsert(from(it), it.after); code != SQLITE_DONE) [[unlikely]]
        return code;
      return unlist(it, into, it.after);
    case action::remove:
      if (const int code = into.remove(from(it), it.before); code != SQLITE_DONE) [[unlikely]]
        return code;
      return unlist(it, into, it.before);
    case action::partial:
      return partial(it, into);
    case action::move:
      return move(it, into);
    case action::insert:
      return into.insert(from(it), it.after);
    case action::erase:
      return erase(it, into);
    case action::truncate:
      if (const int code = into.truncate(); code != SQLITE_DONE)
        return code;
      return stored(listed_.clear(into.table()->name));
    case action::forget:
      return unlist(it, into, it.before);
  }
  return SQLITE_INTERNAL;
}

int batch_writer::partial(const change& it, table_writer& into) {
  if (const int code = into.update(from(it), it.after); code != SQLITE_DONE)
    return code;
  return answer_row(it, into, into.changed() > 0);
}

/// The key a row moves to has no row in the source at this moment, so one that is here goes first.
int batch_writer::move(const change& it, table_writer& into) {
  const bool has_base = it.before != change::none;
  const bool stays = has_base && into.same_key(from(it), it.before, it.after);
  if (!stays)
    if (const int code = into.remove(from(it), it.after); code != SQLITE_DONE)
      return code;
  if (!has_base)
    return answer_row(it, into, false);
  if (const int code = into.move(from(it), it.before, it.after); code != SQLITE_DONE)
    return code;
  const bool found = into.changed() > 0;
  if (const int code = unlist(it, into, it.before); code != SQLITE_DONE)
    return code;
  if (found)
    if (const int code = unlist(it, into, it.after); code != SQLITE_DONE)
      return code;
  return answer_row(it, into, found);
}

int batch_writer::erase(const change& it, table_writer& into) {
  if (const int code = into.erase(from(it), it.before); code != SQLITE_DONE)
    return code;
  if (into.changed() == 0)
    ++report_.not_found;
  return SQLITE_DONE;
}

int batch_writer::answer_row(const change& it, table_writer& into, bool found) {
  report_.answers.push_back({it.number, found});
  if (found || !it.keep_if_missing)
    return SQLITE_DONE;
  into.encode_key(from(it), it.after, key_);
  return stored(listed_.add(into.table()->name, key_));
}

int batch_writer::unlist(const change& it, table_writer& into, std::uint32_t image) {
  if (into.listed().empty()) [[likely]]
    return SQLITE_DONE;
  into.encode_key(from(it), image, key_);
  return stored(listed_.remove(into.table()->name, key_));
}

int batch_writer::stored(const result<void>& done) {
  if (done)
    return SQLITE_DONE;
  list_error_ = done.error();
  return SQLITE_ERROR;
}

result<void> batch_writer::refuse(const change& it, const table_writer& into, int code) {
  if (list_error_)
    return tl::unexpected(*list_error_);
  const auto& table = *into.table();
  if (code == SQLITE_INTERNAL)
    return fail(errc::invariant_broken, "a row of {} lacks a cell that its operation needs",
                to_string(table.source->table));
  auto why = db_.explain(code, fmt::format("writing table {}", sql_name(table.name)));
  if (why.code != errc::row_refused)
    return tl::unexpected(std::move(why));
  report_.refused.push_back({it.number, std::move(why.detail)});
  if (it.what == action::partial || it.what == action::move)
    report_.answers.push_back({it.number, true});
  return {};
}

} // namespace cdc::sinks::sqlite
