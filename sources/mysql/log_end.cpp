#include "sources/mysql/log_end.hpp"

#include <utility>

#include "sources/mysql/setup.hpp"

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

result<log_place> log_end::run() {
  const auto is_kept = on_.has_value();
  if (!on_) {
    auto opened = connection::open(source_, "log end");
    if (!opened)
      return tl::unexpected(opened.error());
    on_ = *std::move(opened);
  }
  auto said = read_log_end(*on_);
  if (said)
    return said;
  on_.reset();
  return is_kept ? run() : said;
}

result<position> log_end::ask() {
  const auto said = run();
  return said ? places_->token(*said) : tl::unexpected(said.error());
}

} // namespace cdc::sources::mysql
