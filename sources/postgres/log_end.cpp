#include "sources/postgres/log_end.hpp"

#include "sources/postgres/conninfo.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

result<rows> log_end::run(const std::string& sql, std::string_view doing) {
  const auto is_kept = on_.has_value();
  if (!on_) {
    const auto to = conninfo::make(source_, purpose::query, "log end");
    if (!to)
      return tl::unexpected(to.error());
    auto opened = connection::open(*to, stop_);
    if (!opened)
      return tl::unexpected(opened.error());
    on_ = std::move(*opened);
  }
  auto said = on_->run(sql, doing);
  if (said)
    return said;
  on_.reset();
  if (is_kept)
    return run(sql, doing);
  return said;
}

result<position> log_end::ask() {
  const auto said = run("SELECT pg_catalog.pg_current_wal_insert_lsn()", "ask for the log's end");
  if (!said)
    return tl::unexpected(said.error());
  return parse_lsn(said->text(0, 0));
}

result<void> log_end::move_on() {
  return run("SELECT pg_catalog.pg_logical_emit_message(true, 'cdc', '')", "move the log on")
      .map([](const rows&) {});
}

} // namespace cdc::sources::postgres
