#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <simdjson.h>
#include <unistd.h>

#include "config/config.hpp"
#include "sinks/make_sink.hpp"
#include "sinks/search/exchange.hpp"
#include "tests/contract/sink_contract.hpp"

namespace cdc::contract {

/// The node that tests may use: `opensearch http://127.0.0.1:9200`, the flavor and the URL.
inline std::optional<config::target_config> search_target() {
  const auto* text = std::getenv("CDC_TEST_SEARCH");
  if (text == nullptr)
    return std::nullopt;
  const std::string said{text};
  const auto space = said.find(' ');
  config::target_config out;
  out.what = said.starts_with("elasticsearch") ? config::target_config::flavor::elasticsearch
                                               : config::target_config::flavor::opensearch;
  out.servers = {config::parse_server_url(said.substr(space + 1)).value()};
  return out;
}

/// What any other client of the node sees.
class search_reader {
public:
  explicit search_reader(const config::target_config& target) {
    sinks::http::client_options options;
    options.servers = target.servers;
    over_ = sinks::http::make_client(std::move(options));
  }

  sinks::http::response ask(std::string_view method, const std::string& path,
                            const std::string& body = {}) {
    auto said = sinks::search::exchange(*over_).ask(method, path, body);
    EXPECT_TRUE(said) << said.error().detail;
    return said ? *said : sinks::http::response{};
  }

  shown_rows rows(const target_table& table) {
    shown_rows out;
    ask("POST", "/" + table.name + "/_refresh");
    const auto said = ask("POST", "/" + table.name + "/_search", R"({"size":10000})");
    simdjson::dom::parser parser;
    for (const auto hit : simdjson::dom::array(parser.parse(said.body)["hits"]["hits"])) {
      shown_row made;
      for (const auto& column : table.columns)
        made.push_back(shown(hit["_source"][column.name]));
      out.insert(std::move(made));
    }
    return out;
  }

private:
  static std::optional<std::string>
  shown(const simdjson::simdjson_result<simdjson::dom::element>& value) {
    std::string_view text;
    if (value.error() != simdjson::SUCCESS || value.is_null())
      return std::nullopt;
    return value.get(text) == simdjson::SUCCESS ? std::string{text} : simdjson::to_string(value);
  }

  std::unique_ptr<sinks::http::client> over_;
};

class search_under_test final : public target_under_test {
public:
  search_under_test(config::target_config target, std::string suffix)
      : target_(std::move(target)), suffix_(std::move(suffix)), reader_(target_) {
    forget();
  }
  ~search_under_test() override { forget(); }

  std::unique_ptr<sinks::sink> make() override { return std::move(*sinks::make_sink(target_)); }
  shown_rows rows(const target_table_ptr& table) override { return reader_.rows(*table); }
  void break_lock() override {}

private:
  void forget() {
    reader_.ask("DELETE", "/items" + suffix_);
    reader_.ask("DELETE", "/.pg2osync_meta/_doc/postgres-cdc_actors" + suffix_);
  }

  config::target_config target_;
  std::string suffix_;
  search_reader reader_;
};

inline contract_traits search_traits() {
  contract_traits out;
  out.name = "search";
  out.isolates = false;
  out.is_keyless = false;
  out.suffix = "_" + std::to_string(::getpid());
  const auto target = search_target();
  if (!target)
    out.absent = "CDC_TEST_SEARCH names no node";
  else
    out.make = [target = *target, suffix = out.suffix](const std::filesystem::path&) {
      return std::make_unique<search_under_test>(target, suffix);
    };
  return out;
}

} // namespace cdc::contract
