#include <array>

#include <fmt/format.h>

#include "config/sections.hpp"

namespace cdc::config {

namespace {

using flavor = target_config::flavor;

constexpr std::array<std::string_view, 3> flavors{"sqlite", "ndjson", "null"};
constexpr std::array<std::string_view, 8> later_flavors{
    "opensearch", "elasticsearch", "meilisearch", "postgres",
    "postgresql", "mysql",         "mariadb",     "sqlserver"};

// An option that the chosen flavor does not look at would be a promise that nobody keeps.
void only_for(section& in, std::string_view key, flavor wanted, flavor chosen) {
  if (in.has(key) && wanted != chosen)
    in.report(key, fmt::format("is for flavor \"{}\"; it does nothing for \"{}\"",
                               flavors[static_cast<std::size_t>(wanted)],
                               flavors[static_cast<std::size_t>(chosen)]));
}

bool read_flavor(section& in, flavor& out) {
  const auto chosen = in.choice("flavor", flavors, later_flavors);
  if (!in.has("flavor"))
    in.report("flavor", "is required: \"sqlite\", \"ndjson\" or \"null\" (\"opensearch\", which "
                        "stands for none, is not supported yet)");
  if (chosen)
    out = static_cast<flavor>(*chosen);
  return chosen.has_value();
}

void check_path(section& in, const target_config& out) {
  if (out.what == flavor::null && in.has("path"))
    in.report("path", "does nothing for flavor \"null\"");
  if (out.what != flavor::null && !in.has("path"))
    in.report("path", "is required: the file to write");
  if (out.what == flavor::sqlite && out.path == "-")
    in.report("path", "a database cannot be written to standard output");
  if (out.path == "-" && in.has("rotate_bytes"))
    in.report("rotate_bytes", "does nothing for standard output");
}

} // namespace

target_config read_target(section in) {
  static constexpr std::array<std::string_view, 2> numeric{"text", "number"};
  static constexpr std::array<std::string_view, 2> changes{"report", "add"};
  target_config out;
  out.at = in.at();
  const auto has_flavor = read_flavor(in, out.what);
  in.read("path", out.path);
  out.numeric_as_number = in.choice("numeric", numeric) == std::size_t{1};
  out.add_columns = in.choice("schema_changes", changes) == std::size_t{1};
  in.read("rotate_bytes", out.rotate_bytes, {.min = 1, .max = std::uint64_t{1} << 50});
  if (has_flavor) {
    check_path(in, out);
    only_for(in, "numeric", flavor::sqlite, out.what);
    only_for(in, "schema_changes", flavor::sqlite, out.what);
    only_for(in, "rotate_bytes", flavor::ndjson, out.what);
  }
  in.refuse_as_later({"url", "url_env", "username", "password", "password_env", "api_key_env",
                      "tls_verify", "state_dir", "require_alias"});
  in.finish();
  return out;
}

} // namespace cdc::config
