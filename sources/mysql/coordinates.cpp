#include "sources/mysql/coordinates.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cdc::sources::mysql {

namespace {

constexpr std::uint64_t token_limit = std::uint64_t{1} << 51;
constexpr std::uint64_t offset_max = 0xffff'ffff;
constexpr std::uint64_t generation_step = std::uint64_t{1} << 40; // between two

template <class T>
bool read_number(std::string_view text, T& out) noexcept {
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), out);
  return mistake == std::errc{} && end == text.data() + text.size();
}

struct file_name {
  std::string_view log;
  std::uint64_t number = 0;
};

std::optional<file_name> parse_file(std::string_view name) noexcept {
  const auto dot = name.rfind('.');
  file_name out;
  if (dot == std::string_view::npos || !read_number(name.substr(dot + 1), out.number))
    return std::nullopt;
  out.log = name.substr(0, dot);
  return out;
}

auto no_log_file(std::string_view name) {
  return fail(errc::malformed_message, "{} is no file of a binary log", name);
}

std::string_view take_until(std::string_view& text, char mark) noexcept {
  const auto before = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), before.size() + 1));
  return before;
}

} // namespace

std::string to_string(const log_place& place) {
  return fmt::format("{}:{}", place.file, place.offset);
}

result<coordinates> coordinates::starting_in(std::string_view file) {
  const auto name = parse_file(file);
  if (!name)
    return no_log_file(file);
  coordinates out;
  out.generations_.push_back({.from = 0, .base = 0, .log = std::string{name->log}});
  return out;
}

result<position> coordinates::token(std::string_view file, std::uint64_t offset) const {
  const auto name = parse_file(file);
  if (!name || generations_.empty())
    return no_log_file(file);
  const auto& now = generations_.back();
  const auto raw = static_cast<std::int64_t>(name->number << 32) + now.base;
  const auto out = static_cast<std::uint64_t>(raw) + std::min(offset, offset_max);
  if (raw < 0 || out < now.from)
    return fail(errc::position_lost,
                "the server's log is at {}:{}, before all that was read of it: it was reset, or "
                "this is another server",
                file, offset);
  if (out >= token_limit)
    return fail(errc::source_misconfigured,
                "the server's log is at {}:{}, beyond what a position can say: RESET BINARY LOGS "
                "at the server counts its files anew",
                file, offset);
  return position{out};
}

const coordinates::generation& coordinates::of(position at) const noexcept {
  auto found = generations_.rbegin();
  while (std::next(found) != generations_.rend() && at.token < found->from)
    ++found;
  return *found;
}

log_place coordinates::place(position at) const {
  if (generations_.empty())
    return {};
  const auto& in = of(at);
  const auto raw = static_cast<std::uint64_t>(static_cast<std::int64_t>(at.token) - in.base);
  return {fmt::format("{}.{:06}", in.log, raw >> 32), raw & offset_max};
}

bool coordinates::is_current(position at) const noexcept {
  return !generations_.empty() && at.token >= generations_.back().from;
}

result<coordinates> coordinates::renewed(position used, std::string_view file) const {
  const auto name = parse_file(file);
  if (!name)
    return no_log_file(file);
  auto out = *this;
  const auto from = (used.token + generation_step) >> 32 << 32;
  // The file's tokens begin at `from`; those of the files before it are never asked for.
  const auto base = static_cast<std::int64_t>(from) - static_cast<std::int64_t>(name->number << 32);
  if (from >= token_limit)
    return fail(errc::source_misconfigured,
                "the source was replaced too often to count on: run --fresh-start-and-load");
  out.generations_.push_back({.from = from, .base = base, .log = std::string{name->log}});
  return out;
}

std::string coordinates::to_text() const {
  std::string out;
  for (const auto& each : generations_)
    out += fmt::format("{}{} {} {}", out.empty() ? "" : "\n", each.from, each.base, each.log);
  return out;
}

result<coordinates> coordinates::parse(std::string_view text) {
  coordinates out;
  while (!text.empty()) {
    auto line = take_until(text, '\n');
    generation next;
    const auto from = take_until(line, ' ');
    const auto base = take_until(line, ' ');
    next.log = line;

    if (!read_number(from, next.from) || !read_number(base, next.base) || next.log.empty() ||
        (!out.generations_.empty() && next.from <= out.generations_.back().from))
      return fail(errc::malformed_message, "this says nothing of a log's files");
    out.generations_.push_back(std::move(next));
  }
  return out;
}

std::string coordinates::describe(position at, std::string_view gtid) const {
  auto out = to_string(place(at));
  if (!gtid.empty())
    out += fmt::format(";gtid={}", gtid);
  if (const auto base = generations_.empty() ? 0 : of(at).base; base != 0)
    out += fmt::format(";base={}", base);
  return out;
}

result<described_place> parse_described_place(std::string_view text) {
  described_place out;
  const auto place = take_until(text, ';');
  const auto colon = place.rfind(':');
  if (colon == std::string_view::npos || colon == 0 ||
      !read_number(place.substr(colon + 1), out.at.offset))
    return fail(errc::malformed_message, "this is no place in a log: expected file:position");
  out.at.file = place.substr(0, colon);
  while (!text.empty()) {
    auto value = take_until(text, ';');
    const auto key = take_until(value, '=');
    if (key == "gtid")
      out.gtid = value;
    if (key == "base" && !read_number(value, out.base))
      return fail(errc::malformed_message, "this is no place in a log: its base is no number");
  }
  return out;
}

std::string binlog_status_statement(const server_version& version) {
  return !version.is_mariadb && version.number >= 80'200 ? "SHOW BINARY LOG STATUS"
                                                         : "SHOW MASTER STATUS";
}

} // namespace cdc::sources::mysql
