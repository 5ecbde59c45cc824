#include "sinks/search/stored_document.hpp"

#include <simdjson.h>

namespace cdc::sinks::search {

bool for_each_field(std::string_view document,
                    const std::function<void(const stored_field&)>& show) {
  const simdjson::padded_string padded{document};
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document parsed;
  simdjson::ondemand::object object;
  if (parser.iterate(padded).get(parsed) != simdjson::SUCCESS ||
      parsed.get_object().get(object) != simdjson::SUCCESS)
    return false;
  for (auto each : object) {
    simdjson::ondemand::field field;
    std::string_view name;
    std::string_view json;
    if (std::move(each).get(field) != simdjson::SUCCESS ||
        field.unescaped_key().get(name) != simdjson::SUCCESS ||
        simdjson::to_json_string(field.value()).get(json) != simdjson::SUCCESS)
      return false;
    show({name, json.substr(0, json.find_last_not_of(" \t\r\n") + 1)});
  }
  return true;
}

} // namespace cdc::sinks::search
