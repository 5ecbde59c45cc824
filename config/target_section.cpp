#include <array>

#include <fmt/format.h>

#include "config/sections.hpp"

namespace cdc::config {

namespace {

using flavor = target_config::flavor;

constexpr std::array<std::string_view, 5> flavors{"sqlite", "ndjson", "null", "opensearch",
                                                  "elasticsearch"};
constexpr std::array<std::string_view, 6> later_flavors{"meilisearch", "postgres", "postgresql",
                                                        "mysql",       "mariadb",  "sqlserver"};

std::string quoted(flavor what) {
  return fmt::format("\"{}\"", to_string(what));
}

// An option that the chosen flavor does not look at would be a promise that nobody keeps.
void only_for(section& in, std::string_view key, flavor wanted, flavor chosen) {
  if (in.has(key) && wanted != chosen)
    in.report(key, fmt::format("is for flavor {}; it does nothing for {}", quoted(wanted),
                               quoted(chosen)));
}

// -- files ----------------------------------------------------------------------------------------

void check_path(section& in, const target_config& out) {
  const auto is_file = out.what == flavor::sqlite || out.what == flavor::ndjson;
  if (!is_file && in.has("path"))
    in.report("path", fmt::format("does nothing for flavor {}", quoted(out.what)));
  if (is_file && !in.has("path"))
    in.report("path", "is required: the file to write");
  if (out.what == flavor::sqlite && out.path == "-")
    in.report("path", "a database cannot be written to standard output");
  if (out.path == "-" && in.has("rotate_bytes"))
    in.report("rotate_bytes", "does nothing for standard output");
}

// -- servers --------------------------------------------------------------------------------------

/// `url`: one, or several of one cluster.
void add_server(section& in, std::string_view key, std::string_view url, target_config& out) {
  const auto parsed = parse_server_url(url);
  if (!parsed)
    return in.report(key, parsed.error().detail);
  if (parsed->host.ends_with(".aoss.amazonaws.com"))
    return in.report(key, "AWS OpenSearch Serverless keeps no versions of documents, so that what "
                          "comes late or twice would do harm: use a managed domain or a cluster");
  for (const auto& other : out.servers)
    if (other == *parsed)
      return in.report(key, "a server is named twice");
  out.servers.push_back(*parsed);
}

void read_servers(section& in, target_config& out) {
  const auto* node = in.find("url");
  if (node && node->is_array()) {
    for (const auto& each : in.list("url").value_or(std::vector<std::string>{}))
      add_server(in, "url", each, out);
  } else if (const auto url = in.text("url")) {
    add_server(in, "url", *url, out);
  }
  if (const auto url = read_variable(in, "url_env"))
    add_server(in, "url_env", url->reveal(), out);
  if (in.has("url") && in.has("url_env"))
    in.report("url_env", "url and url_env exclude each other");
}

void read_credentials(section& in, target_config& out) {
  in.read("username", out.username);
  if (auto inline_password = in.text("password")) {
    in.note("password", "stands in the file: whoever reads the file reads it");
    out.password = secret{std::move(*inline_password)};
  }
  if (auto value = read_variable(in, "password_env"))
    out.password = std::move(*value);
  if (auto value = read_variable(in, "api_key_env"))
    out.api_key = std::move(*value);
  if (in.has("password") && in.has("password_env"))
    in.report("password_env", "password and password_env exclude each other");
  const auto has_password = in.has("password") || in.has("password_env");
  if (in.has("username") != has_password)
    in.report(in.has("username")   ? "username"
              : in.has("password") ? "password"
                                   : "password_env",
              "username and a password go together");
  if (in.has("api_key_env") && in.has("username"))
    in.report("api_key_env", "a key and a user exclude each other");
}

constexpr std::array<std::string_view, 10> server_keys{
    "url",         "url_env",    "username",    "password",      "password_env",
    "api_key_env", "tls_verify", "sslrootcert", "require_alias", "gzip"};

void check_servers(section& in, const target_config& out) {
  if (!is_document_target(out)) {
    for (const auto key : server_keys)
      if (in.has(key))
        in.report(key, fmt::format("does nothing for flavor {}", quoted(out.what)));
    return;
  }
  if (!in.has("url") && !in.has("url_env"))
    in.report("url", "url or url_env is required: https://host:9200");
  bool is_tls = out.servers.empty();
  for (const auto& each : out.servers)
    is_tls = is_tls || each.is_tls;
  if (!is_tls && (in.has("sslrootcert") || in.has("tls_verify")))
    in.report(in.has("sslrootcert") ? "sslrootcert" : "tls_verify",
              "does nothing for an http:// URL");
  if (in.has("sslrootcert") && !out.tls_verify)
    in.report("sslrootcert", "does nothing with tls_verify = false");
  if (is_tls && !out.tls_verify)
    in.note("tls_verify", "false takes any server for the right one");
  if (!is_tls && in.has("username"))
    in.note("username", "the password goes over the network as it is: use an https:// URL");
}

} // namespace

std::string_view to_string(target_config::flavor what) noexcept {
  return flavors[static_cast<std::size_t>(what)];
}

bool is_document_target(const target_config& target) noexcept {
  return target.what == flavor::opensearch || target.what == flavor::elasticsearch;
}

std::string location_of(const target_config& target) {
  return target.servers.empty() ? target.path : to_string(target.servers.front());
}

target_config read_target(section in) {
  static constexpr std::array<std::string_view, 2> numeric{"text", "number"};
  static constexpr std::array<std::string_view, 2> changes{"report", "add"};
  target_config out;
  out.at = in.at();
  const auto chosen = in.choice("flavor", flavors, later_flavors);
  const auto is_known = chosen || !in.has("flavor");
  out.what = chosen ? static_cast<flavor>(*chosen) : flavor::opensearch;
  in.read("path", out.path);
  out.numeric_as_number = in.choice("numeric", numeric) == std::size_t{1};
  out.add_columns = in.choice("schema_changes", changes) == std::size_t{1};
  in.read("rotate_bytes", out.rotate_bytes, {.min = 1, .max = std::uint64_t{1} << 50});
  read_servers(in, out);
  read_credentials(in, out);
  in.read("tls_verify", out.tls_verify);
  in.read("sslrootcert", out.sslrootcert);
  in.read("require_alias", out.require_alias);
  in.read("gzip", out.gzip);
  if (is_known) {
    check_path(in, out);
    check_servers(in, out);
    only_for(in, "numeric", flavor::sqlite, out.what);
    only_for(in, "schema_changes", flavor::sqlite, out.what);
    only_for(in, "rotate_bytes", flavor::ndjson, out.what);
  }
  in.refuse_as_later({"state_dir"});
  in.finish();
  return out;
}

} // namespace cdc::config
