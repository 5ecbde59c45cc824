#include "sources/mysql/gtid_set.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cdc::sources::mysql {

namespace {

constexpr std::uint64_t number_limit = std::uint64_t{1} << 63;
constexpr std::size_t tag_size_max = 32;

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// What stands before `mark`; `text` keeps what stands behind it, or nothing.
std::string_view take_until(std::string_view& text, char mark) noexcept {
  const auto before = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), before.size() + 1));
  return trimmed(before);
}

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9')
    return letter - '0';
  const auto lower = static_cast<char>(letter | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<std::array<std::uint8_t, 16>> parse_uuid(std::string_view text) noexcept {
  if (text.size() != 36)
    return std::nullopt;
  std::array<std::uint8_t, 16> out{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-')
        return std::nullopt;
      continue;
    }
    const auto digit = hex_digit(text[i]);
    if (digit < 0)
      return std::nullopt;
    out[digits / 2] = static_cast<std::uint8_t>(out[digits / 2] * 16 + digit);
    ++digits;
  }
  return out;
}

// A letter or an underscore, then letters, digits and underscores; in the set's text a tag stands
// where numbers could.
std::optional<std::string> parse_tag(std::string_view text) {
  std::string out;
  for (const auto letter : text) {
    const auto lower = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
    const auto is_digit = lower >= '0' && lower <= '9';
    if (lower != '_' && (lower < 'a' || lower > 'z') && (!is_digit || out.empty()))
      return std::nullopt;
    out += lower;
  }
  return out.empty() || out.size() > tag_size_max ? std::nullopt : std::optional{out};
}

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  std::uint64_t out = 0;
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (mistake != std::errc{} || end != text.data() + text.size() || out == 0 || out >= number_limit)
    return std::nullopt;
  return out;
}

std::optional<gtid_set::interval> parse_interval(std::string_view text) noexcept {
  const auto is_one = text.find('-') == std::string_view::npos;
  const auto first = parse_number(take_until(text, '-'));
  const auto last = is_one ? first : parse_number(trimmed(text));
  if (!first || !last || *last < *first)
    return std::nullopt;
  return gtid_set::interval{*first, *last};
}

auto not_a_set() {
  return fail(errc::malformed_message, "this is no set of GTIDs");
}

std::uint16_t hash_of(const gtid_source& source) noexcept {
  std::uint32_t hash = 2'166'136'261;
  const auto mix = [&](std::uint8_t byte) { hash = (hash ^ byte) * 16'777'619; };
  for (const auto byte : source.uuid)
    mix(byte);
  for (const auto letter : source.tag)
    mix(static_cast<std::uint8_t>(letter));
  return static_cast<std::uint16_t>(hash ^ hash >> 16);
}

gtid_set::intervals intersection(const gtid_set::intervals& left,
                                 const gtid_set::intervals& right) {
  gtid_set::intervals out;
  for (const auto& one : left)
    for (const auto& other : right)
      if (const auto first = std::max(one.first, other.first),
          last = std::min(one.last, other.last);
          first <= last)
        out.push_back({first, last});
  return out;
}

void put_number(std::string& to, std::uint64_t value) {
  for (auto i = 0; i < 8; ++i)
    to += static_cast<char>(value >> (8 * i));
}

} // namespace

// -- one source -----------------------------------------------------------------------------------

std::string to_string(const gtid_source& source) {
  std::string out;
  for (std::size_t i = 0; i < source.uuid.size(); ++i)
    out +=
        fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", source.uuid[i]);
  return source.tag.empty() ? out : out + ":" + source.tag;
}

result<gtid_source> parse_gtid_source(std::string_view text) {
  gtid_source out;
  const auto uuid = parse_uuid(take_until(text, ':'));
  if (!uuid)
    return fail(errc::malformed_message, "this is no server's UUID");
  out.uuid = *uuid;
  if (text.empty())
    return out;
  auto tag = parse_tag(trimmed(text));
  if (!tag)
    return fail(errc::malformed_message, "this is no tag of a GTID");
  out.tag = *std::move(tag);
  return out;
}

transaction_id id_of(const gtid_source& source, std::uint64_t number) noexcept {
  constexpr auto bits = (std::uint64_t{1} << 48) - 1;
  return transaction_id{hash_of(source)} << 48 | (number & bits);
}

// -- sets -----------------------------------------------------------------------------------------

result<gtid_set> gtid_set::parse(std::string_view text) {
  gtid_set out;
  for (text = trimmed(text); !text.empty();) {
    auto part = take_until(text, ',');
    if (part.empty())
      continue;
    gtid_source source;
    const auto uuid = parse_uuid(take_until(part, ':'));
    if (!uuid || part.empty())
      return not_a_set();
    source.uuid = *uuid;
    while (!part.empty()) {
      const auto piece = take_until(part, ':');
      if (auto tag = parse_tag(piece); tag && !part.empty()) {
        source.tag = *std::move(tag);
        continue;
      }
      const auto numbers = parse_interval(piece);
      if (!numbers)
        return not_a_set();
      out.add(source, *numbers);
    }
  }
  return out;
}

result<void> gtid_set::add(const gtid_source& source, std::string_view numbers) {
  while (!numbers.empty()) {
    const auto next = parse_interval(take_until(numbers, ':'));
    if (!next)
      return not_a_set();
    add(source, *next);
  }
  return {};
}

void gtid_set::add(const gtid_source& source, std::uint64_t number) {
  add(source, interval{number, number});
}

void gtid_set::add(const gtid_set& more) {
  for (const auto& [source, numbers] : more.sources_)
    for (const auto& each : numbers)
      add(source, each);
}

void gtid_set::add(const gtid_source& source, interval more) {
  auto& all = sources_[source];
  // Numbers come in their order but for a few.
  if (!all.empty() && more.first == all.back().last + 1) [[likely]] {
    all.back().last = more.last;
    return;
  }
  const auto from = std::ranges::lower_bound(all, more.first, {},
                                             [](const interval& each) { return each.last + 1; });
  auto to = from;
  for (; to != all.end() && to->first <= more.last + 1; ++to) {
    more.first = std::min(more.first, to->first);
    more.last = std::max(more.last, to->last);
  }
  all.insert(all.erase(from, to), more);
}

bool gtid_set::contains(const gtid_source& source, std::uint64_t number) const noexcept {
  const auto found = sources_.find(source);
  if (found == sources_.end())
    return false;
  const auto at = std::ranges::lower_bound(found->second, number, {}, &interval::last);
  return at != found->second.end() && at->first <= number;
}

bool gtid_set::contains(const gtid_set& other) const noexcept {
  return std::ranges::all_of(other.sources_, [&](const auto& entry) {
    const auto found = sources_.find(entry.first);
    return std::ranges::all_of(entry.second, [&](const interval& wanted) {
      if (found == sources_.end())
        return false;
      const auto at = std::ranges::lower_bound(found->second, wanted.first, {}, &interval::last);
      return at != found->second.end() && at->first <= wanted.first && wanted.last <= at->last;
    });
  });
}

bool gtid_set::has_tags() const noexcept {
  return std::ranges::any_of(sources_, [](const auto& entry) { return !entry.first.tag.empty(); });
}

snapshot gtid_set::as_snapshot() const {
  std::map<std::uint16_t, intervals> by_hash;
  for (const auto& [source, numbers] : sources_) {
    const auto [known, is_new] = by_hash.emplace(hash_of(source), numbers);
    if (!is_new)
      known->second = intersection(known->second, numbers);
  }
  snapshot out;
  for (const auto& [hash, numbers] : by_hash)
    for (const auto& each : numbers)
      out.runs.push_back(
          {transaction_id{hash} << 48 | each.first, transaction_id{hash} << 48 | each.last});
  if (out.runs.empty())
    out.runs.push_back({0, 0});
  return out;
}

// Without tags: the number of sources in 8 bytes. With tags: 1 in the first byte and the last, the
// number in the six between, and each source's tag behind its UUID, its length doubled.
std::string gtid_set::encoded() const {
  std::string out;
  const auto tags = has_tags();
  const auto count = std::uint64_t{sources_.size()};
  put_number(out, tags ? 1 | count << 8 | std::uint64_t{1} << 56 : count);
  for (const auto& [source, numbers] : sources_) {
    out.append(reinterpret_cast<const char*>(source.uuid.data()), source.uuid.size());
    if (tags) {
      out += static_cast<char>(source.tag.size() << 1);
      out += source.tag;
    }
    put_number(out, numbers.size());
    for (const auto& each : numbers) {
      put_number(out, each.first);
      put_number(out, each.last + 1);
    }
  }
  return out;
}

std::string to_string(const gtid_set::intervals& numbers) {
  std::string out;
  for (const auto& each : numbers) {
    out += out.empty() ? "" : ":";
    out += each.first == each.last ? fmt::format("{}", each.first)
                                   : fmt::format("{}-{}", each.first, each.last);
  }
  return out;
}

std::string to_string(const gtid_set& set) {
  std::string out;
  const gtid_source* last = nullptr;
  for (const auto& [source, numbers] : set.sources()) {
    if (last && last->uuid == source.uuid)
      out += ":" + source.tag;
    else
      out += (out.empty() ? "" : ",") + to_string(source);
    out += ":" + to_string(numbers);
    last = &source;
  }
  return out;
}

} // namespace cdc::sources::mysql
