#include "sinks/search/index_shape.hpp"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <utility>

#include <simdjson.h>

#include "messages/json.hpp"

namespace cdc::sinks::search {

namespace {

// What a date column may hold in the source's text form; what none of them reads (infinity, years
// before 1 or past 9999) stays in the document and is not indexed.
constexpr std::string_view date_field =
    R"({"type":"date","format":"yyyy-MM-dd","ignore_malformed":true})";
constexpr std::string_view timestamp_field =
    R"({"type":"date","format":"yyyy-MM-dd HH:mm:ss||yyyy-MM-dd HH:mm:ss.SSSSSS||)"
    R"(yyyy-MM-dd HH:mm:ss.SSSSS||yyyy-MM-dd HH:mm:ss.SSSS||yyyy-MM-dd HH:mm:ss.SSS||)"
    R"(yyyy-MM-dd HH:mm:ss.SS||yyyy-MM-dd HH:mm:ss.S","ignore_malformed":true})";
constexpr std::string_view timestamptz_field =
    R"({"type":"date","format":"yyyy-MM-dd HH:mm:ssX||yyyy-MM-dd HH:mm:ss.SSSSSSX||)"
    R"(yyyy-MM-dd HH:mm:ss.SSSSSX||yyyy-MM-dd HH:mm:ss.SSSSX||yyyy-MM-dd HH:mm:ss.SSSX||)"
    R"(yyyy-MM-dd HH:mm:ss.SSX||yyyy-MM-dd HH:mm:ss.SX","ignore_malformed":true})";
// 8,191 characters are at most 32,764 bytes, and a term has at most 32,766.
constexpr std::string_view keyword_field = R"({"type":"keyword","ignore_above":8191})";
constexpr std::string_view text_field =
    R"({"type":"text","fields":{"keyword":{"type":"keyword","ignore_above":8191}}})";
constexpr std::string_view decimal_field =
    R"({"type":"keyword","ignore_above":8191,"fields":{"number":{"type":"double","ignore_malformed":true}}})";

// One size of each: a column that is widened at the source has room here.
constexpr std::string_view integer_field = R"({"type":"long"})";
constexpr std::string_view floating_field = R"({"type":"double","ignore_malformed":true})";

constexpr std::string_view our_name = "cdc-actors";

/// What the values of a column are to an index: an array is its elements.
kind held_kind(const target_table& table, const target_column& it) {
  return it.what == kind::array && it.source ? table.source->columns[*it.source].element : it.what;
}

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

bool holds_numbers(std::string_view type) {
  return is_one_of(type, {"long", "integer", "short", "byte", "double", "float", "half_float",
                          "scaled_float", "unsigned_long"});
}

/// Types that take any value as text, and those that look at none.
bool holds_anything(std::string_view type) {
  return is_one_of(type, {"keyword", "text", "wildcard", "match_only_text", "search_as_you_type",
                          "constant_keyword", "icu_collation_keyword", "annotated_text", "alias"});
}

bool can_hold(std::string_view type, kind what) {
  if (holds_anything(type))
    return what != kind::json;
  switch (what) {
    case kind::boolean:
      return type == "boolean";
    case kind::integer:
    case kind::floating:
    case kind::decimal:
      return holds_numbers(type) || is_one_of(type, {"date", "date_nanos"});
    case kind::bytes:
      return type == "binary";
    case kind::date:
    case kind::timestamp:
    case kind::timestamptz:
      return is_one_of(type, {"date", "date_nanos"});
    case kind::json:
      return !holds_numbers(type) && type != "boolean";
    // Text of any kind: whether it is an address, a version or a vector is for the server to say.
    case kind::text:
    case kind::other:
    case kind::geometry:
    case kind::time:
    case kind::set:
    case kind::enumeration:
    case kind::bit:
    case kind::array:
      return !holds_numbers(type) && !is_one_of(type, {"boolean", "object", "nested"});
  }
  return true;
}

result<std::string> read_mapping_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in)
    return fail(errc::target_misconfigured, "mapping_file {} cannot be read", path);
  simdjson::dom::parser parser;
  simdjson::dom::object body;
  if (parser.parse(text).get(body) != simdjson::SUCCESS)
    return fail(errc::target_misconfigured, "mapping_file {} holds no JSON object", path);
  const auto has = [&](std::string_view key) { return body[key].error() == simdjson::SUCCESS; };
  return has("mappings") || has("settings") ? text : R"({"mappings":)" + text + "}";
}

} // namespace

std::string field_mapping(kind what) {
  switch (what) {
    case kind::boolean:
      return R"({"type":"boolean"})";
    case kind::integer:
      return std::string{integer_field};
    case kind::floating:
      return std::string{floating_field};
    case kind::decimal:
      return std::string{decimal_field};
    case kind::text:
      return std::string{text_field};
    case kind::json:
      return R"({"type":"object","enabled":false})";
    case kind::bytes:
      return R"({"type":"binary"})";
    case kind::date:
      return std::string{date_field};
    case kind::timestamp:
      return std::string{timestamp_field};
    case kind::timestamptz:
      return std::string{timestamptz_field};
    case kind::array: // of what its elements are: see held_kind()
    case kind::time:
    case kind::set:
    case kind::enumeration:
    case kind::bit:
    case kind::geometry:
    case kind::other:
      return std::string{keyword_field};
  }
  return std::string{keyword_field};
}

std::string mapping_of(const target_table& table, const std::vector<std::uint16_t>& columns) {
  std::string out{"{\"properties\":{"};
  bool is_first = true;
  for (const auto at : columns) {
    const auto& it = table.columns[at];
    if (!std::exchange(is_first, false))
      out += ',';
    json::append_string(out, it.name);
    out += ':';
    out += field_mapping(held_kind(table, it));
  }
  return out + "}}";
}

result<std::string> creation_body(const target_table& table) {
  if (!table.mapping_file.empty())
    return read_mapping_file(table.mapping_file);
  std::vector<std::uint16_t> all(table.columns.size());
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  auto mapping = mapping_of(table, all);
  mapping.insert(1, fmt::format(R"("dynamic":false,"_meta":{{"made_by":"{}"}},)", our_name));
  return R"({"mappings":)" + mapping + "}";
}

// -- an index that is there -----------------------------------------------------------------------

result<live_mapping> read_mapping(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object indices;
  if (parser.parse(body).get(indices) != simdjson::SUCCESS)
    return fail(errc::malformed_message, "the target's answer about a mapping is no JSON");
  live_mapping out;
  for (const auto& [name, index] : indices) {
    const auto mapping = index["mappings"];
    std::string_view text;
    out.is_ours |= mapping["_meta"]["made_by"].get(text) == simdjson::SUCCESS && text == our_name;
    out.is_strict |= mapping["dynamic"].get(text) == simdjson::SUCCESS && text == "strict";
    simdjson::dom::object properties;
    if (mapping["properties"].get(properties) != simdjson::SUCCESS)
      continue;
    for (const auto& [field, how] : properties)
      out.types[std::string{field}] =
          how["type"].get(text) == simdjson::SUCCESS ? std::string{text} : "object";
  }
  return out;
}

result<std::vector<std::uint16_t>> compare(const target_table& table, const live_mapping& live) {
  std::vector<std::uint16_t> missing;
  std::string wrong;
  for (std::uint16_t at = 0; at < table.columns.size(); ++at) {
    const auto& it = table.columns[at];
    const auto type = live.types.find(it.name);
    if (type == live.types.end())
      missing.push_back(at);
    else if (!can_hold(type->second, held_kind(table, it)))
      wrong +=
          fmt::format("{}field {} is mapped as {}, and its column is {}", wrong.empty() ? "" : "; ",
                      it.name, type->second, to_string(held_kind(table, it)));
    if (type == live.types.end() && live.is_strict && !live.is_ours)
      wrong += fmt::format("{}its mapping is strict and has no field {}", wrong.empty() ? "" : "; ",
                           it.name);
  }
  if (wrong.empty())
    return missing;
  return fail(
      errc::target_misconfigured,
      "index {}: {}. A mapping cannot be changed: name another index, or delete this one and "
      "have it made and loaded anew (an index cannot be rebuilt beside the old one yet)",
      table.name, wrong);
}

result<void> check_index_name(std::string_view name) {
  const auto is_inside = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_' ||
           letter == '-';
  };
  if (!name.empty() && name.size() <= 255 && name.front() >= 'a' && name.front() <= 'z' &&
      std::ranges::all_of(name, is_inside))
    return {};
  return fail(
      errc::target_misconfigured,
      "\"{}\" cannot be the name of an index, which begins with a letter of a to z and goes "
      "on with those, digits, _ and -: name another with `index`",
      name);
}

} // namespace cdc::sinks::search
