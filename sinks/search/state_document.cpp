#include "sinks/search/state_document.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <simdjson.h>

#include "messages/json.hpp"
#include "sinks/hex.hpp"

namespace cdc::sinks::search {

namespace {

namespace parsed = simdjson::dom;

constexpr std::uint64_t version_of_fields = 2; ///< pg2osync's.
constexpr std::uint64_t version_of_ours = 1;
constexpr std::string_view our_field = "cdc_actors";

// -- bytes as JSON text ---------------------------------------------------------------------------

/// Keys are any bytes, and JSON is UTF-8.
std::string encoded(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += digits[byte >> 4U];
    out += digits[byte & 0xFU];
  }
  return out;
}

std::optional<std::string> decoded(std::string_view hex) {
  std::string out;
  if (hex.size() % 2 != 0)
    return std::nullopt;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int byte = byte_of_hex(hex.data() + i);
    if (byte < 0)
      return std::nullopt;
    out += static_cast<char>(byte);
  }
  return out;
}

// -- writing --------------------------------------------------------------------------------------

void write_relaxed(json::writer& to, const std::map<std::string, index_settings>& relaxed) {
  to.key("relaxed").begin_array();
  for (const auto& [index, was] : relaxed) {
    to.begin_object().member("index", index);
    if (was.refresh_interval)
      to.member("refresh_interval", *was.refresh_interval);
    if (was.replicas)
      to.member("replicas", *was.replicas);
    to.end_object();
  }
  to.end_array();
}

void write_ours(json::writer& to, const state_document& state) {
  const auto& kept = state.kept;
  to.key(our_field).begin_object();
  to.member("version", version_of_ours).member("epoch", kept.epoch).member("life", state.life);
  to.member("server", kept.stream.server).member("database", kept.stream.database);
  to.member("written_at", state.written_at);
  if (kept.resume)
    to.member("resume", kept.resume->resume.token).member("of_version", kept.resume->version.token);
  to.key("records").begin_array();
  for (const auto& [name, value] : kept.records)
    to.begin_object().member("name", encoded(name)).member("value", encoded(value)).end_object();
  to.end_array().key("listed").begin_array();
  for (const auto& it : kept.listed)
    to.begin_object().member("table", it.table).member("key", encoded(it.key)).end_object();
  to.end_array();
  write_relaxed(to, state.relaxed);
  to.key("guarded").begin_array();
  for (const auto& index : state.guarded)
    to.value(std::string_view{index});
  to.end_array();
  to.end_object();
}

// -- reading --------------------------------------------------------------------------------------

template <class T>
bool get(const parsed::element& from, std::string_view name, T& out) {
  return from[name].get(out) == simdjson::SUCCESS;
}

bool get(const parsed::element& from, std::string_view name, std::string& out) {
  std::string_view text;
  if (!get(from, name, text))
    return false;
  out = text;
  return true;
}

bool get_encoded(const parsed::element& from, std::string_view name, std::string& out) {
  std::string_view text;
  if (!get(from, name, text))
    return false;
  auto bytes = decoded(text);
  if (bytes)
    out = std::move(*bytes);
  return bytes.has_value();
}

bool read_records(const parsed::element& from, kept_state& out) {
  parsed::array records;
  parsed::array listed;
  if (!get(from, "records", records) || !get(from, "listed", listed))
    return false;
  for (const auto each : records) {
    std::string name;
    if (!get_encoded(each, "name", name) || !get_encoded(each, "value", out.records[name]))
      return false;
  }
  for (const auto each : listed) {
    listed_key key;
    if (!get(each, "table", key.table) || !get_encoded(each, "key", key.key))
      return false;
    out.listed.insert(std::move(key));
  }
  return true;
}

bool read_relaxed(const parsed::element& from, state_document& out) {
  parsed::array relaxed;
  if (!get(from, "relaxed", relaxed))
    return false;
  for (const auto each : relaxed) {
    std::string index;
    if (!get(each, "index", index))
      return false;
    auto& was = out.relaxed[index];
    std::string text;
    if (get(each, "refresh_interval", text))
      was.refresh_interval = text;
    if (get(each, "replicas", text))
      was.replicas = text;
  }
  return true;
}

/// A document of an earlier version has none.
bool read_guarded(const parsed::element& from, state_document& out) {
  parsed::array guarded;
  if (!get(from, "guarded", guarded))
    return true;
  for (const auto each : guarded) {
    std::string_view index;
    if (each.get(index) != simdjson::SUCCESS)
      return false;
    out.guarded.emplace(index);
  }
  return true;
}

bool read_ours(const parsed::element& from, state_document& out) {
  auto& kept = out.kept;
  std::uint64_t resume = 0;
  std::uint64_t version = 0;
  if (!get(from, "epoch", kept.epoch) || !get(from, "life", out.life) ||
      !get(from, "server", kept.stream.server) || !get(from, "database", kept.stream.database) ||
      !get(from, "written_at", out.written_at))
    return false;
  if (get(from, "resume", resume) && get(from, "of_version", version))
    kept.resume = checkpoint{{resume}, {version}};
  return read_records(from, kept) && read_relaxed(from, out) && read_guarded(from, out);
}

auto damaged() {
  return fail(errc::target_misconfigured,
              "the checkpoint in {} is damaged, or was not written by cdc-actors", state_index);
}

auto newer() {
  return fail(errc::target_misconfigured,
              "the checkpoint in {} was written by a newer version of this program", state_index);
}

/// `0/16B3748`, as version 1 stored it.
std::optional<position> parse_position(std::string_view text) {
  const auto slash = text.find('/');
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  if (slash == std::string_view::npos)
    return std::nullopt;
  const auto first = std::from_chars(text.data(), text.data() + slash, high, 16);
  const auto second = std::from_chars(text.data() + slash + 1, text.data() + text.size(), low, 16);
  if (first.ptr != text.data() + slash || second.ptr != text.data() + text.size())
    return std::nullopt;
  return position{high << 32U | low};
}

result<state_document> read_foreign(const parsed::element& from, state_document out) {
  out.is_foreign = true;
  std::uint64_t token = 0;
  std::string text;
  if (get(from, "token", token))
    out.kept.resume = checkpoint{{token}, {token}};
  else if (get(from, "confirmed_lsn", text) || get(from, "position", text))
    if (const auto at = parse_position(text))
      out.kept.resume = checkpoint{*at, *at};
  if (!out.kept.resume)
    return damaged();
  std::int64_t seconds = 0;
  if (get(from, "updated_at_epoch", seconds))
    out.written_at = seconds * 1'000'000;
  return out;
}

} // namespace

std::string state_id(const stream_identity& stream) {
  auto out = stream.source + "-" + stream.stream;
  std::ranges::replace_if(
      out,
      [](char letter) {
        return !((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                 (letter >= '0' && letter <= '9') || letter == '_' || letter == '-');
      },
      '_');
  return out;
}

std::string spelled(position at, std::string_view source) {
  if (source == "postgres")
    return fmt::format("{:X}/{:X}", at.token >> 32U, at.token & 0xffff'ffffU);
  return fmt::format("{}", at.token);
}

std::string to_json(const state_document& state) {
  std::string out;
  json::writer to{out};
  const auto& kept = state.kept;
  to.begin_object().member("source", kept.stream.source).member("stream", kept.stream.stream);
  to.member("slot_name", kept.stream.stream).member("publication", kept.stream.publication);
  // Without a position there is nothing for pg2osync to resume from, and it must not think so.
  if (kept.resume)
    to.member("position", spelled(kept.resume->resume, kept.stream.source))
        .member("token", kept.resume->resume.token);
  to.member("instance_id", state.life).member("updated_at_epoch", state.written_at / 1'000'000);
  to.member("schema_version", version_of_fields);
  write_ours(to, state);
  to.end_object();
  return out;
}

result<state_document> read_state(std::string_view json) {
  parsed::parser parser;
  parsed::element from;
  state_document out;
  if (parser.parse(json).get(from) != simdjson::SUCCESS)
    return damaged();
  std::uint64_t version = 1;
  if (get(from, "schema_version", version) && version > version_of_fields)
    return newer();
  auto& stream = out.kept.stream;
  if (!get(from, "slot_name", stream.stream) || !get(from, "publication", stream.publication))
    return damaged();
  if (!get(from, "source", stream.source))
    stream.source = "postgres";
  parsed::element ours;
  if (!get(from, our_field, ours))
    return read_foreign(from, std::move(out));
  if (!get(ours, "version", version) || version > version_of_ours)
    return newer();
  if (!read_ours(ours, out))
    return damaged();
  return out;
}

result<void> check_stream(const state_document& state, const stream_identity& stream,
                          std::string_view where) {
  auto is = state.kept.stream;
  if (state.is_foreign) {
    is.server = stream.server;
    is.database = stream.database;
  }
  if (is == stream)
    return {};
  return fail(
      errc::foreign_stream,
      "{}: the checkpoint {} belongs to slot {} and publication {} of database {} on server "
      "{}, not to slot {} and publication {} of database {} on server {}: use another "
      "slot_name for one of the two",
      where, state_id(stream), is.stream, is.publication, is.database, is.server, stream.stream,
      stream.publication, stream.database, stream.server);
}

} // namespace cdc::sinks::search
