#include "sinks/search/answers.hpp"

#include <fmt/format.h>
#include <simdjson.h>

namespace cdc::sinks::search {

namespace {

namespace json = simdjson::dom;

auto malformed(std::string_view what) {
  return fail(errc::malformed_message, "the target's answer to {} is not what it should be", what);
}

item_answer error_of(unsigned status, const json::element& from) {
  item_answer out;
  out.status = status;
  std::string_view text;
  if (from["type"].get(text) == simdjson::SUCCESS)
    out.type = text;
  if (from["reason"].get(text) == simdjson::SUCCESS)
    out.about = without_values(text);
  else if (from.get(text) == simdjson::SUCCESS)
    out.type = "error"; // an older or a foreign server: one text
  return out;
}

/// `[…]` right behind `word` in the text, brackets included.
std::string_view bracketed(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos)
    return {};
  const auto begin = at + word.size() - 1;
  const auto end = text.find(']', begin);
  return end == std::string_view::npos ? std::string_view{} : text.substr(begin, end - begin + 1);
}

} // namespace

std::string without_values(std::string_view reason) {
  std::string out;
  const auto field = bracketed(reason, "field [");
  const auto type = bracketed(reason, "type [");
  if (!field.empty())
    out += fmt::format("field {}", field);
  if (!type.empty())
    out += fmt::format("{}of type {}", out.empty() ? "" : " ", type);
  if (const auto index = bracketed(reason, "index ["); out.empty() && !index.empty())
    out = fmt::format("index {}", index);
  if (const auto index = bracketed(reason, "no such index ["); !index.empty())
    out = fmt::format("no such index {}", index);
  if (reason.find("FORBIDDEN/12") != std::string_view::npos)
    out += out.empty() ? "the disk is too full" : ": the disk is too full";
  else if (reason.find("FORBIDDEN/5") != std::string_view::npos ||
           reason.find("FORBIDDEN/8") != std::string_view::npos)
    out += out.empty() ? "it is read-only" : ": it is read-only";
  return out;
}

result<std::vector<item_answer>> read_bulk_answer(std::string_view body, std::size_t items) {
  json::parser parser;
  json::array answers;
  if (parser.parse(body)["items"].get(answers) != simdjson::SUCCESS || answers.size() != items)
    return malformed("a bulk request");
  std::vector<item_answer> out;
  out.reserve(items);
  for (const auto item : answers) {
    json::object named;
    if (item.get(named) != simdjson::SUCCESS || named.begin() == named.end())
      return malformed("a bulk request");
    const json::element said = (*named.begin()).value;
    std::uint64_t status = 0;
    json::element error;
    if (said["status"].get(status) != simdjson::SUCCESS)
      return malformed("a bulk request");
    if (said["error"].get(error) == simdjson::SUCCESS)
      out.push_back(error_of(static_cast<unsigned>(status), error));
    else
      out.push_back({.status = static_cast<unsigned>(status)});
  }
  return out;
}

result<std::vector<found_document>> read_documents(std::string_view body, std::size_t documents) {
  // The document's own numbers are not looked at: they may be of any size.
  const simdjson::padded_string padded{body};
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document answer;
  simdjson::ondemand::array found;
  if (parser.iterate(padded).get(answer) != simdjson::SUCCESS ||
      answer["docs"].get_array().get(found) != simdjson::SUCCESS)
    return malformed("a request for documents");
  std::vector<found_document> out;
  for (auto each : found) {
    simdjson::ondemand::object fields;
    if (each.get_object().get(fields) != simdjson::SUCCESS)
      return malformed("a request for documents");
    auto& made = out.emplace_back();
    for (auto field : fields) {
      std::string_view name;
      if (field.unescaped_key().get(name) != simdjson::SUCCESS)
        return malformed("a request for documents");
      if (name == "found") {
        if (field.value().get_bool().get(made.is_there) != simdjson::SUCCESS)
          return malformed("a request for documents");
      } else if (name == "_version") {
        if (field.value().get_uint64().get(made.version) != simdjson::SUCCESS)
          return malformed("a request for documents");
      } else if (name == "_source") {
        std::string_view source;
        simdjson::ondemand::value value;
        if (field.value().get(value) != simdjson::SUCCESS ||
            simdjson::to_json_string(value).get(source) != simdjson::SUCCESS)
          return malformed("a request for documents");
        made.source = source;
      }
    }
  }
  if (out.size() != documents)
    return malformed("a request for documents");
  return out;
}

result<std::uint64_t> read_count(std::string_view body) {
  json::parser parser;
  std::uint64_t out = 0;
  if (parser.parse(body)["count"].get(out) != simdjson::SUCCESS)
    return malformed("a count");
  return out;
}

result<document_page> read_page(std::string_view body) {
  json::parser parser;
  json::element answer;
  std::string_view text;
  json::array hits;
  document_page out;
  if (parser.parse(body).get(answer) != simdjson::SUCCESS ||
      answer["_scroll_id"].get(text) != simdjson::SUCCESS ||
      answer["hits"]["hits"].get(hits) != simdjson::SUCCESS)
    return malformed("a search");
  out.scroll = text;
  for (const auto hit : hits) {
    auto& made = out.documents.emplace_back();
    std::string_view id;
    if (hit["_index"].get(text) != simdjson::SUCCESS || hit["_id"].get(id) != simdjson::SUCCESS ||
        hit["_version"].get(made.version) != simdjson::SUCCESS)
      return malformed("a search");
    made.index = text;
    made.id = id;
  }
  return out;
}

result<stored_state_document> read_stored(std::string_view body) {
  json::parser parser;
  json::element answer;
  json::element source;
  stored_state_document out;
  const auto at = read_stored_at(body);
  if (!at || parser.parse(body)["_source"].get(source) != simdjson::SUCCESS)
    return malformed("a look at the checkpoint");
  out.at = *at;
  out.source = simdjson::to_string(source);
  return out;
}

result<stored_at> read_stored_at(std::string_view body) {
  json::parser parser;
  json::element answer;
  stored_at out;
  if (parser.parse(body).get(answer) != simdjson::SUCCESS ||
      answer["_seq_no"].get(out.seq_no) != simdjson::SUCCESS ||
      answer["_primary_term"].get(out.primary_term) != simdjson::SUCCESS)
    return malformed("a write of the checkpoint");
  return out;
}

item_answer read_error(unsigned status, std::string_view body) {
  json::parser parser;
  json::element error;
  if (parser.parse(body)["error"].get(error) == simdjson::SUCCESS)
    return error_of(status, error);
  return {.status = status};
}

} // namespace cdc::sinks::search
