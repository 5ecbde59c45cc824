#include "sinks/search/server_version.hpp"

#include <charconv>

#include <simdjson.h>

namespace cdc::sinks::search {

namespace {

struct number {
  unsigned major = 0;
  unsigned minor = 0;
};

number parse(std::string_view text) {
  number out;
  const auto* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, out.major);
  if (major.ptr != end && *major.ptr == '.')
    std::from_chars(major.ptr + 1, end, out.minor);
  return out;
}

auto wrong_flavor(const std::string& where, std::string_view is) {
  return fail(errc::target_misconfigured, "{} is {}: set flavor = \"{}\"", where,
              is == "opensearch" ? "OpenSearch" : "Elasticsearch", is);
}

} // namespace

result<void> check_version(const http::response& said, bool wants_elasticsearch,
                           const std::string& where) {
  simdjson::dom::parser parser;
  simdjson::dom::element version;
  std::string_view text;
  if (said.status >= 300 || parser.parse(said.body)["version"].get(version) != simdjson::SUCCESS ||
      version["number"].get(text) != simdjson::SUCCESS) {
    // Some nodes do not serve their own root.
    if (said.is_elasticsearch && !wants_elasticsearch)
      return wrong_flavor(where, "elasticsearch");
    if (said.is_elasticsearch == wants_elasticsearch && said.is_elasticsearch)
      return {};
    return fail(errc::target_misconfigured,
                "{} does not answer as OpenSearch or Elasticsearch does (status {})", where,
                said.status);
  }
  const auto is = parse(text);
  std::string_view distribution;
  const auto is_opensearch = version["distribution"].get(distribution) == simdjson::SUCCESS &&
                             distribution == "opensearch";
  if (is_opensearch == wants_elasticsearch)
    return wrong_flavor(where, is_opensearch ? "opensearch" : "elasticsearch");
  if (is_opensearch && is.major < 2)
    return fail(errc::target_misconfigured, "{} is OpenSearch {}; at least 2.0 is needed", where,
                text);
  if (!is_opensearch && (is.major < 7 || (is.major == 7 && is.minor < 17)))
    return fail(errc::target_misconfigured, "{} is Elasticsearch {}; at least 7.17 is needed",
                where, text);
  return {};
}

} // namespace cdc::sinks::search
