#include "sinks/search/quarantine.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <simdjson.h>

#include "messages/json.hpp"
#include "sinks/search/document_writer.hpp"
#include "sinks/search/verdict.hpp"

namespace cdc::sinks::search {

namespace {

namespace parsed = simdjson::ondemand;

constexpr std::string_view index_body =
    R"({"settings":{"index":{"hidden":true,"number_of_shards":1,"auto_expand_replicas":"0-1"}},)"
    R"("mappings":{"dynamic":false,"properties":{"index":{"type":"keyword"},)"
    R"("doc_id":{"type":"keyword"},"at_epoch":{"type":"long"},"version":{"type":"long"},)"
    R"("document":{"type":"object","enabled":false}}}})";

auto malformed() {
  return fail(errc::malformed_message, "a record of {} is not what it should be", rejects_index);
}

/// A text, or a number as text; the fields that nobody set are null.
bool read_text(parsed::value value, std::string& out) {
  std::string_view text;
  parsed::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS)
    return false;
  if (type == parsed::json_type::null)
    return true;
  if (type == parsed::json_type::number) {
    if (simdjson::to_json_string(value).get(text) != simdjson::SUCCESS)
      return false;
  } else if (value.get_string().get(text) != simdjson::SUCCESS) {
    return false;
  }
  out = text;
  return true;
}

template <class Number>
bool read_number(parsed::value value, Number& out) {
  std::string text;
  if (!read_text(value, text))
    return false;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), out);
  return text.empty() || done.ec == std::errc{};
}

bool read_field(std::string_view name, parsed::value value, reject_record& out) {
  if (name == "index")
    return read_text(value, out.what.index);
  if (name == "doc_id")
    return read_text(value, out.what.document);
  if (name == "reason")
    return read_text(value, out.what.reason);
  if (name == "position")
    return read_text(value, out.what.position);
  if (name == "action")
    return read_text(value, out.what.action);
  if (name == "routing")
    return read_text(value, out.routing);
  if (name == "pipeline")
    return read_text(value, out.pipeline);
  if (name == "version")
    return read_number(value, out.version);
  if (name == "at_epoch")
    return read_number(value, out.what.at);
  if (name != "document")
    return true;
  parsed::json_type type{};
  std::string_view text;
  if (value.type().get(type) != simdjson::SUCCESS)
    return false;
  if (type == parsed::json_type::null)
    return true;
  if (simdjson::to_json_string(value).get(text) != simdjson::SUCCESS)
    return false;
  out.document = text;
  return true;
}

bool read_source(parsed::value value, reject_record& out) {
  parsed::object fields;
  if (value.get_object().get(fields) != simdjson::SUCCESS)
    return false;
  for (auto field : fields) {
    std::string_view name;
    parsed::value each;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS ||
        field.value().get(each) != simdjson::SUCCESS || !read_field(name, each, out))
      return false;
  }
  return !out.what.index.empty() && !out.what.document.empty();
}

/// A hit of a search, or a document by its id.
bool read_record(parsed::object& from, reject_record& out, stored_at& at) {
  bool has_source = false;
  for (auto field : from) {
    std::string_view name;
    parsed::value value;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS)
      return false;
    bool is_good = true;
    if (name == "_id")
      is_good = read_text(value, out.id);
    else if (name == "_seq_no")
      is_good = read_number(value, at.seq_no);
    else if (name == "_primary_term")
      is_good = read_number(value, at.primary_term);
    else if (name == "_source")
      is_good = has_source = read_source(value, out);
    if (!is_good)
      return false;
  }
  return has_source && !out.id.empty();
}

} // namespace

std::string to_json(const reject_record& record) {
  std::string out;
  json::writer to{out};
  const auto optional = [&](std::string_view name, const std::string& text) {
    to.key(name);
    text.empty() ? to.null() : to.value(std::string_view{text});
  };
  to.begin_object().member("index", record.what.index).member("doc_id", record.what.document);
  to.member("reason", record.what.reason).member("position", record.what.position);
  to.member("action", record.what.action).member("version", record.version);
  to.member("at_epoch", record.what.at);
  optional("routing", record.routing);
  optional("pipeline", record.pipeline);
  to.end_object();
  out.pop_back();
  out += ",\"document\":";
  out += record.document.empty() ? "null" : record.document;
  return out + "}";
}

result<stored_reject> read_reject(std::string_view body) {
  const simdjson::padded_string padded{body};
  parsed::parser parser;
  parsed::document answer;
  parsed::object fields;
  stored_reject out;
  if (parser.iterate(padded).get(answer) != simdjson::SUCCESS ||
      answer.get_object().get(fields) != simdjson::SUCCESS ||
      !read_record(fields, out.record, out.at))
    return malformed();
  return out;
}

result<reject_page> read_reject_page(std::string_view body) {
  const simdjson::padded_string padded{body};
  parsed::parser parser;
  parsed::document answer;
  parsed::array hits;
  std::string_view text;
  reject_page out;
  if (parser.iterate(padded).get(answer) != simdjson::SUCCESS ||
      answer["_scroll_id"].get_string().get(text) != simdjson::SUCCESS)
    return malformed();
  out.scroll = text;
  if (answer["hits"]["hits"].get_array().get(hits) != simdjson::SUCCESS)
    return malformed();
  for (auto hit : hits) {
    parsed::object fields;
    reject_record made;
    stored_at unused;
    if (hit.get_object().get(fields) != simdjson::SUCCESS || !read_record(fields, made, unused))
      return malformed();
    out.records.push_back(std::move(made));
  }
  return out;
}

std::string reject_path(std::string_view id) {
  return fmt::format("/{}/_doc/{}", rejects_index, in_path(id));
}

result<void> make_rejects_index(exchange& with) {
  const auto path = fmt::format("/{}", rejects_index);
  const auto is_there = with.ask("HEAD", path);
  if (!is_there)
    return tl::unexpected(is_there.error());
  if (is_there->status < 300)
    return {};
  const auto made = with.ask("PUT", path, std::string{index_body});
  if (!made)
    return tl::unexpected(made.error());
  const auto problem = read_error(made->status, made->body);
  if (made->status >= 300 && problem.type != "resource_already_exists_exception")
    return tl::unexpected(error_of(problem, std::string{rejects_index}));
  return {};
}

result<std::vector<reject_record>> read_rejects(exchange& with) {
  std::vector<reject_record> out;
  const auto refreshed = with.ask("POST", fmt::format("/{}/_refresh", rejects_index));
  if (!refreshed)
    return tl::unexpected(refreshed.error());
  if (refreshed->status == 404)
    return out;
  auto said = with.demand("POST", fmt::format("/{}/_search?scroll=5m", rejects_index),
                          R"({"size":1000,"sort":["_doc"],"_source":{"excludes":["document"]}})");
  for (;;) {
    if (!said)
      return tl::unexpected(said.error());
    auto page = read_reject_page(said->body);
    if (!page)
      return tl::unexpected(page.error());
    std::string scroll;
    json::writer to{scroll};
    to.begin_object();
    if (page->records.empty()) {
      to.member("scroll_id", page->scroll).end_object();
      // It ends by itself, too.
      std::ignore = with.ask("DELETE", "/_search/scroll", std::move(scroll));
      return out;
    }
    std::ranges::move(page->records, std::back_inserter(out));
    to.member("scroll", "5m").member("scroll_id", page->scroll).end_object();
    said = with.demand("POST", "/_search/scroll", std::move(scroll));
  }
}

// -- what one life knows --------------------------------------------------------------------------

const quarantine::entry* quarantine::find(std::string_view index, std::string_view document) const {
  if (known_.empty())
    return nullptr;
  const auto found = known_.find(name{index, document});
  return found == known_.end() ? nullptr : &found->second;
}

bool quarantine::is_overtaken(std::string_view index, std::string_view document,
                              std::uint64_t version) const {
  const auto* refused = find(index, document);
  return refused != nullptr && refused->version > version;
}

std::string quarantine::id_for(std::string_view index, std::string_view document) const {
  if (const auto* known = find(index, document))
    return known->id;
  auto out = fmt::format("{}-{}", index, document);
  const auto is_taken =
      std::ranges::any_of(known_, [&](const auto& each) { return each.second.id == out; });
  if (is_taken || out.size() > id_bytes_max)
    return sha256(fmt::format("{}\n{}", index, document));
  return out;
}

void quarantine::add(std::string_view index, std::string_view document, entry made) {
  known_.insert_or_assign(name{index, document}, std::move(made));
}

void quarantine::erase(std::string_view index, std::string_view document) {
  known_.erase(name{index, document});
}

std::vector<std::string> quarantine::documents_of(std::string_view index,
                                                  std::uint64_t version) const {
  std::vector<std::string> out;
  for (const auto& [of, each] : known_)
    if (of.first == index && each.version <= version)
      out.push_back(of.second);
  return out;
}

} // namespace cdc::sinks::search
