#include "sources/mysql/log_end.hpp"

#include <utility>

#include "sources/mysql/endpoint.hpp"

namespace cdc::sources::mysql {

void spoken_places::set(coordinates at) {
  const std::lock_guard hold{guard_};
  at_ = std::move(at);
}

std::string spoken_places::spell(position at) const {
  const std::lock_guard hold{guard_};
  return at_.empty() ? std::to_string(at.token) : to_string(at_.place(at));
}

result<position> spoken_places::read(std::string_view text) const {
  return parse_described_place(text).and_then(
      [this](const described_place& said) { return token(said.at); });
}

result<position> spoken_places::token(const log_place& at) const {
  const std::lock_guard hold{guard_};
  return at_.token(at.file, at.offset);
}

result<rows> log_end::run() {
  const auto is_kept = on_.has_value();
  if (!on_) {
    const auto to = endpoint::make(source_, "log end");
    if (!to)
      return tl::unexpected(to.error());
    auto opened = connection::open(*to);
    if (!opened)
      return tl::unexpected(opened.error());
    on_ = *std::move(opened);
  }
  auto said = on_->query(binlog_status_statement(on_->version()), "ask for the log's end");
  if (said)
    return said;
  on_.reset();
  return is_kept ? run() : said;
}

result<position> log_end::ask() {
  const auto said = run();
  if (!said)
    return tl::unexpected(said.error());
  if (said->empty())
    return fail(errc::source_misconfigured, "{}: the server writes no binary log", on_->describe());
  return places_->token({std::string{said->text(0, 0)}, said->number<std::uint64_t>(0, 1)});
}

} // namespace cdc::sources::mysql
