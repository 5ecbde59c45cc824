#include "messages/load.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace cdc {

namespace {

constexpr std::string_view title = "load 1";
constexpr std::array<std::string_view, 3> scheme_names{"key", "opaque", "keyless"};

// -- writing --------------------------------------------------------------------------------------

constexpr std::string_view hex_digits = "0123456789abcdef";

// Key values are any bytes; a target may keep the record in a column of UTF-8 text.
void append_value(std::string_view value, std::string& out) {
  out += " =";
  for (const auto character : value) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte > 0x20 && byte < 0x7f && byte != '%') {
      out += character;
      continue;
    }
    out += '%';
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 0xf];
  }
}

void append_range(const load_range& range, std::string& out) {
  out += "range";
  for (const auto& value : range.from)
    append_value(value, out);
  out += " to";
  for (const auto& value : range.to)
    append_value(value, out);
  out += '\n';
}

// Runs of finished ranges: `0-41 57`. Most of a table's ranges end in their order.
void append_done(const std::vector<bool>& done, std::string& out) {
  out += "done";
  for (std::size_t first = 0; first < done.size(); ++first) {
    if (!done[first])
      continue;
    auto last = first;
    while (last + 1 < done.size() && done[last + 1])
      ++last;
    out += first == last ? fmt::format(" {}", first) : fmt::format(" {}-{}", first, last);
    first = last;
  }
  out += '\n';
}

// -- reading --------------------------------------------------------------------------------------

/// The next piece of `text` up to `end`, which is taken away too.
std::string_view take_until(std::string_view& text, char end) {
  const auto at = text.find(end);
  const auto piece = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return piece;
}

template <class T>
bool read_number(std::string_view text, T& out) {
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), out);
  return mistake == std::errc{} && end == text.data() + text.size();
}

bool read_value(std::string_view text, std::string& out) {
  while (!text.empty()) {
    if (text.front() != '%') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 3)
      return false;
    const auto high = hex_digits.find(text[1]);
    const auto low = hex_digits.find(text[2]);
    if (high == std::string_view::npos || low == std::string_view::npos)
      return false;
    out += static_cast<char>(high << 4 | low);
    text.remove_prefix(3);
  }
  return true;
}

bool read_range(std::string_view text, load_range& out) {
  auto* side = &out.from;
  while (!text.empty()) {
    const auto word = take_until(text, ' ');
    if (word == "to" && side == &out.from)
      side = &out.to;
    else if (!word.starts_with('=') || !read_value(word.substr(1), side->emplace_back()))
      return false;
  }
  return side == &out.to;
}

bool read_run(std::string_view text, std::vector<bool>& done) {
  std::size_t first = 0;
  std::size_t last = 0;
  const auto begin = take_until(text, '-');
  if (!read_number(begin, first) || !read_number(text.empty() ? begin : text, last))
    return false;
  if (first > last || last >= done.size())
    return false;
  std::fill(done.begin() + static_cast<std::ptrdiff_t>(first),
            done.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
  return true;
}

bool read_done(std::string_view text, std::vector<bool>& done) {
  while (!text.empty()) {
    if (!read_run(take_until(text, ' '), done))
      return false;
  }
  return true;
}

bool read_seen(std::string_view text, table_progress& out) {
  const auto until = take_until(text, ' ');
  auto seen = parse_snapshot(text);
  if (!seen || !read_number(until, out.keyless_until.token))
    return false;
  out.keyless = std::move(*seen);
  return true;
}

bool read_scheme(std::string_view text, load_plan& out) {
  const auto known = std::ranges::find(scheme_names, text);
  if (known == scheme_names.end())
    return false;
  out.scheme = static_cast<range_scheme>(known - scheme_names.begin());
  return true;
}

/// One line; what `done` says is read when all ranges are known.
bool read_line(std::string_view line, table_progress& out, std::string_view& done) {
  const auto word = take_until(line, ' ');
  if (word == "scheme")
    return read_scheme(line, out.plan);
  if (word == "pages") {
    out.plan.by_page = true;
    return line.empty();
  }
  if (word == "rows")
    return read_number(line, out.plan.rows_estimate);
  if (word == "table")
    return read_number(line, out.table_oid);
  if (word == "published")
    return read_number(line, out.published_by);
  if (word == "left") {
    out.is_left = true;
    return line.empty();
  }
  if (word == "seen")
    return read_seen(line, out);
  if (word == "range")
    return read_range(line, out.plan.ranges.emplace_back());
  if (word != "done")
    return false;
  done = line;
  return true;
}

} // namespace

bool table_progress::finished() const noexcept {
  return !done.empty() && done.size() == plan.ranges.size() &&
         std::ranges::find(done, false) == done.end();
}

std::string to_text(const table_progress& progress) {
  auto out = fmt::format("{}\nscheme {}\nrows {}\n", title,
                         scheme_names[static_cast<std::size_t>(progress.plan.scheme)],
                         progress.plan.rows_estimate);
  if (progress.table_oid != 0)
    out += fmt::format("table {}\n", progress.table_oid);
  if (progress.published_by != 0)
    out += fmt::format("published {}\n", progress.published_by);
  if (progress.is_left)
    out += "left\n";
  if (progress.plan.by_page)
    out += "pages\n";
  if (progress.keyless)
    out += fmt::format("seen {} {}\n", progress.keyless_until.token, to_string(*progress.keyless));
  append_done(progress.done, out);
  for (const auto& range : progress.plan.ranges)
    append_range(range, out);
  return out;
}

result<table_progress> parse_progress(std::string_view text) {
  table_progress out;
  std::string_view done;
  auto number = std::size_t{1};
  auto good = take_until(text, '\n') == title;
  while (good && !text.empty()) {
    ++number;
    good = read_line(take_until(text, '\n'), out, done);
  }
  out.done.resize(out.plan.ranges.size());
  if (!good || !read_done(done, out.done))
    return fail(errc::malformed_message,
                "the stored progress of a load is not understood (near line {} of it)", number);
  return out;
}

} // namespace cdc
