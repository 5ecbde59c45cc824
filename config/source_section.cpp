#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include "config/connection_text.hpp"
#include "config/mysql_url.hpp"
#include "config/sections.hpp"

namespace cdc::config {

namespace {

constexpr std::array<std::string_view, 5> modes{"disable", "prefer", "require", "verify-ca",
                                                "verify-full"};
// Where Debian, Alpine and their kin keep the certificates of the public authorities.
constexpr auto public_authorities = "/etc/ssl/certs/ca-certificates.crt";

// PostgreSQL cuts longer names off, and another publication's name is made of this one.
constexpr std::size_t publication_size_max = 63 - std::string_view{"_append"}.size();

constexpr std::uint64_t hour_ms = 3'600'000;

std::optional<ssl_mode> parse_mode(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return letter == '_' ? '-' : static_cast<char>(std::tolower(letter));
  });
  const auto found = std::ranges::find(modes, text);
  if (found == modes.end())
    return std::nullopt;
  return static_cast<ssl_mode>(found - modes.begin());
}

bool verifies(ssl_mode mode) noexcept {
  return mode == ssl_mode::verify_ca || mode == ssl_mode::verify_full;
}

bool is_file(const std::string& path) {
  std::error_code broken;
  return std::filesystem::is_regular_file(path, broken);
}

source_config::flavor read_flavor(section& in) {
  static constexpr std::array<std::string_view, 4> flavors{"postgres", "postgresql", "mysql",
                                                           "mariadb"};
  static constexpr std::array<std::string_view, 1> ways{"wal"};
  static constexpr std::array<std::string_view, 1> later_ways{"poll"};
  const auto out = in.choice("flavor", flavors).value_or(0) < 2 ? source_config::flavor::postgres
                                                                : source_config::flavor::mysql;
  std::ignore = in.choice("mode", ways, later_ways);
  return out;
}

void read_name(section& in, std::string& name) {
  const auto written = in.text("name");
  if (!written)
    return;
  if (is_label(*written))
    name = *written;
  else
    in.report("name", "expected letters, digits, _ and - only");
}

void read_mode(section& in, source_config& out) {
  const auto written = in.text("sslmode");
  if (!written)
    return;
  out.sslmode = parse_mode(*written);
  if (!out.sslmode)
    in.report("sslmode", fmt::format("expected one of \"{}\"", fmt::join(modes, "\", \"")));
}

void read_certificates(section& in, source_config& out) {
  const auto read_path = [&](std::string_view key, std::string& field) {
    in.read(key, field);
    if (!field.empty() && !is_file(field))
      in.report(key, "there is no such file");
  };
  read_path("sslrootcert", out.sslrootcert);
  read_path("sslcert", out.sslcert);
  read_path("sslkey", out.sslkey);
}

using parameters = std::map<std::string, std::string>;

std::string parameter(const parameters& said, const char* name) {
  const auto found = said.find(name);
  return found == said.end() ? std::string{} : found->second;
}

/// Judges the TLS settings of keys and URL together; `mode` is what holds then. The root
/// certificate that has to be named, or nothing.
std::string settle_tls(section& in, std::string_view key, const parameters& said,
                       const source_config& keys, ssl_mode& mode) {
  auto in_force = keys.sslmode;
  if (const auto written = parameter(said, "sslmode"); !in_force && !written.empty()) {
    in_force = parse_mode(written);
    if (!in_force)
      in.report(key,
                fmt::format("the URL's sslmode must be one of \"{}\"", fmt::join(modes, "\", \"")));
  }
  mode = in_force.value_or(mode);
  for (const auto* name : {"sslrootcert", "sslcert", "sslkey"})
    if (const auto file = parameter(said, name); !file.empty() && !is_file(file))
      in.report(key, fmt::format("the URL's {}: there is no such file", name));
  const auto has_cert = !keys.sslcert.empty() || !parameter(said, "sslcert").empty();
  const auto has_key = !keys.sslkey.empty() || !parameter(said, "sslkey").empty();
  if (has_cert != has_key)
    in.report(has_cert ? "sslcert" : "sslkey", "sslcert and sslkey go together; one is missing");
  const auto has_root = !keys.sslrootcert.empty() || !parameter(said, "sslrootcert").empty();
  if (has_root && !verifies(mode))
    in.note("sslrootcert",
            fmt::format("sslmode {} does not insist on it; verify-full does", spelling(mode)));
  return !has_root && verifies(mode) && is_file(public_authorities) ? public_authorities : "";
}

// The text says every TLS setting itself, so that neither libpq's environment variables nor its
// spelling of the modes decide one that the file has decided.
secret settle(section& in, std::string_view key, const secret& url, const source_config& keys,
              ssl_mode& mode) {
  auto text = url.reveal();
  const auto parts = look_into(text);
  if (!parts) {
    in.report(key, is_mysql_url(text) ? "a MySQL or MariaDB source needs flavor = \"mysql\""
                                      : "expected postgresql://… or key=value text");
    return url;
  }
  const auto root = settle_tls(in, key, parts->parameters, keys, mode);
  text = with_parameter(text, "sslmode", spelling(mode));
  const auto home = in.into().variable("HOME").value_or("");
  if (!root.empty() && !is_file(home + "/.postgresql/root.crt"))
    text = with_parameter(text, "sslrootcert", root);
  return secret{std::move(text)};
}

void settle_mysql(section& in, std::string_view key, const secret& url, source_config& out) {
  const auto parts = parse_mysql_url(url.reveal());
  if (!parts) {
    in.report(key, look_into(url.reveal()) && !is_mysql_url(url.reveal())
                       ? "a PostgreSQL source needs flavor = \"postgres\""
                       : parts.error().detail);
    return;
  }
  const auto root = settle_tls(in, key, parts->parameters, out, out.sslmode_in_force);
  const auto complete = [&](std::string& field, const char* name) {
    if (field.empty())
      field = parameter(parts->parameters, name);
  };
  complete(out.sslrootcert, "sslrootcert");
  complete(out.sslcert, "sslcert");
  complete(out.sslkey, "sslkey");
  if (out.sslrootcert.empty())
    out.sslrootcert = root;
  out.url = url;
}

void read_url(section& in, source_config& out) {
  auto inline_url = in.text("url");
  const auto has_inline = in.has("url");
  const auto has_variable = in.has("url_env");
  auto from_variable = read_variable(in, "url_env");
  if (has_inline && has_variable)
    in.report("url", "url and url_env exclude each other");
  else if (has_inline)
    in.note("url", "a password in the file is readable by whoever reads the file; use url_env");
  else if (!has_variable)
    in.report("url_env", "url_env or url is required");
  if (!from_variable && !inline_url)
    return;
  const auto* const key = from_variable ? "url_env" : "url";
  const auto url = from_variable ? *from_variable : secret{*inline_url};
  out.url_from = from_variable ? "$" + *in.text("url_env") : "source.url";
  if (out.what == source_config::flavor::mysql)
    settle_mysql(in, key, url, out);
  else
    out.url = settle(in, key, url, out, out.sslmode_in_force);
}

void read_admin_url(section& in, source_config& out) {
  const auto url = read_variable(in, "admin_url_env");
  if (!url || out.what != source_config::flavor::postgres)
    return;
  auto mode = out.sslmode_in_force;
  out.admin_url = settle(in, "admin_url_env", *url, out, mode);
}

// PostgreSQL: "Slot names may only contain lower case letters, numbers, and the underscore".
bool is_slot_name(std::string_view text) noexcept {
  return text.size() < 64 && std::ranges::all_of(text, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                  letter == '_';
         });
}

void read_stream(section& in, source_config& out) {
  in.read("slot_name", out.slot_name);
  if (!is_slot_name(out.slot_name))
    in.report("slot_name", "expected at most 63 of a to z, 0 to 9 and _");
  in.read("publication", out.publication);
  if (out.publication.size() > publication_size_max)
    in.report("publication", "expected at most 56 bytes, since _append is added for a second one");
}

void read_replica(section& in, source_config& out) {
  in.read("server_id", out.server_id, {.min = 1});
  in.read("server_public_key", out.server_public_key);
  if (!out.server_public_key.empty() && !is_file(out.server_public_key))
    in.report("server_public_key", "there is no such file");
  in.read("allow_table_lock", out.allow_table_lock);
}

void refuse_the_others_keys(section& in, source_config::flavor what) {
  const auto refuse = [&](std::initializer_list<std::string_view> keys, std::string_view owner) {
    for (const auto key : keys)
      if (in.has(key))
        in.report(key,
                  fmt::format("belongs to a {} source; flavor is \"{}\"", owner, to_string(what)));
  };
  if (what == source_config::flavor::mysql)
    refuse({"admin_url_env", "catch_up_bytes", "mode", "publication", "slot_name"}, "PostgreSQL");
  else
    refuse({"allow_table_lock", "server_id", "server_public_key"}, "MySQL or MariaDB");
}

} // namespace

std::string_view to_string(source_config::flavor what) noexcept {
  return what == source_config::flavor::mysql ? "mysql" : "postgres";
}

std::string_view spelling(ssl_mode mode) noexcept {
  return modes[static_cast<std::size_t>(mode)];
}

source_config read_source(section in) {
  source_config out;
  out.at = in.at();
  out.what = read_flavor(in);
  read_name(in, out.name);
  read_mode(in, out);
  read_certificates(in, out);
  read_url(in, out);
  read_admin_url(in, out);
  read_stream(in, out);
  read_replica(in, out);
  refuse_the_others_keys(in, out.what);
  in.read("reconnect_max", out.reconnect_max, {.min = 0, .max = 1'000'000});
  in.read_duration("reconnect_backoff_ms", out.reconnect_backoff, {.min = 1, .max = hour_ms});
  in.read("load_workers", out.load_workers, {.min = 1, .max = 64});
  in.read("load_chunk_rows", out.load_chunk_rows, {.min = 1, .max = 1'000'000'000});
  in.read("catch_up_bytes", out.catch_up_bytes, {.min = 0, .max = std::uint64_t{1} << 50});
  in.refuse_as_later({"poll_column", "poll_interval_secs", "poll_page_size"});
  in.finish();
  return out;
}

} // namespace cdc::config
