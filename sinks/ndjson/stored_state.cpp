#include "sinks/ndjson/stored_state.hpp"

#include <charconv>
#include <vector>

namespace cdc::sinks::ndjson {

namespace {

constexpr std::string_view title = "cdc-actors-ndjson 1";

void append_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && byte != '%') {
      out += c;
      continue;
    }
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 0xFU];
  }
}

bool decode(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size())
      return false;
    const auto [end, code] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
    if (code != std::errc() || end != text.data() + i + 3)
      return false;
    out += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

/// FNV-1a: enough to tell a torn file, and nobody forges one.
std::uint64_t checksum(std::string_view text) noexcept {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : text)
    out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return out;
}

void append_line(std::string& out, std::string_view name,
                 std::initializer_list<std::string_view> values) {
  out += name;
  for (const auto value : values) {
    out += ' ';
    append_encoded(out, value);
  }
  out += '\n';
}

void append_line(std::string& out, std::string_view name, std::uint64_t value) {
  append_line(out, name, {std::to_string(value)});
}

struct line {
  std::string_view name;
  std::vector<std::string> values;
};

bool split(std::string_view text, line& out) {
  out.values.clear();
  auto space = text.find(' ');
  out.name = text.substr(0, space);
  while (space != std::string_view::npos) {
    text.remove_prefix(space + 1);
    space = text.find(' ');
    if (!decode(text.substr(0, space), out.values.emplace_back()))
      return false;
  }
  return true;
}

template <class Number>
bool read(const line& from, std::size_t at, Number& out) {
  if (at >= from.values.size())
    return false;
  const auto& text = from.values[at];
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

bool take(const line& it, stored_state& out) {
  const auto has = [&](std::size_t count) { return it.values.size() == count; };
  if (it.name == "stream" && has(5)) {
    const auto& v = it.values;
    out.kept.stream = {v[0], v[1], v[2], v[3], v[4]};
    return true;
  }
  if (it.name == "resume" && has(2)) {
    checkpoint at;
    if (!read(it, 0, at.resume.token) || !read(it, 1, at.version.token))
      return false;
    out.kept.resume = at;
    return true;
  }
  if (it.name == "boot" && has(1)) {
    out.boot = it.values[0];
    return true;
  }
  if (it.name == "record" && has(2))
    return out.kept.records.emplace(it.values[0], it.values[1]).second;
  if (it.name == "listed" && has(2))
    return out.kept.listed.insert({it.values[0], it.values[1]}).second;
  if (it.name == "epoch" && has(2))
    return read(it, 0, out.kept.epoch) && read(it, 1, out.serial);
  if (it.name == "file" && has(2))
    return read(it, 0, out.file) && read(it, 1, out.bytes);
  return it.name == "written_at" && has(1) && read(it, 0, out.written_at);
}

} // namespace

std::string to_text(const stored_state& state) {
  std::string out(title);
  out += '\n';
  const auto& stream = state.kept.stream;
  append_line(out, "stream",
              {stream.source, stream.server, stream.stream, stream.database, stream.publication});
  append_line(out, "epoch", {std::to_string(state.kept.epoch), std::to_string(state.serial)});
  append_line(out, "file", {std::to_string(state.file), std::to_string(state.bytes)});
  if (state.kept.resume)
    append_line(out, "resume",
                {std::to_string(state.kept.resume->resume.token),
                 std::to_string(state.kept.resume->version.token)});
  append_line(out, "boot", {state.boot});
  append_line(out, "written_at", {std::to_string(state.written_at)});
  for (const auto& [name, value] : state.kept.records)
    append_line(out, "record", {name, value});
  for (const auto& it : state.kept.listed)
    append_line(out, "listed", {it.table, it.key});
  append_line(out, "end", checksum(out));
  return out;
}

result<stored_state> parse_state(std::string_view text) {
  const auto torn = [] {
    return fail(errc::target_misconfigured, "it is damaged, or was not written by cdc-actors");
  };
  const auto last = text.size() < 2 ? std::string_view::npos : text.rfind('\n', text.size() - 2);
  if (last == std::string_view::npos || text.back() != '\n')
    return torn();
  const auto body = text.substr(0, last + 1);
  line it;
  std::uint64_t sum = 0;
  if (!split(text.substr(last + 1, text.size() - last - 2), it) || it.name != "end" ||
      !read(it, 0, sum) || sum != checksum(body))
    return torn();

  stored_state out;
  bool is_first = true;
  for (auto rest = body; !rest.empty();) {
    const auto end = rest.find('\n');
    const auto one = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (is_first ? one != title : !split(one, it) || !take(it, out))
      return torn();
    is_first = false;
  }
  return out;
}

} // namespace cdc::sinks::ndjson
