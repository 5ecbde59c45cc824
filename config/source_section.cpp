#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include "config/connection_text.hpp"
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

void read_flavor(section& in) {
  static constexpr std::array<std::string_view, 2> flavors{"postgres", "postgresql"};
  static constexpr std::array<std::string_view, 2> later_flavors{"mysql", "mariadb"};
  static constexpr std::array<std::string_view, 1> ways{"wal"};
  static constexpr std::array<std::string_view, 1> later_ways{"poll"};
  std::ignore = in.choice("flavor", flavors, later_flavors);
  std::ignore = in.choice("mode", ways, later_ways);
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

// The text says every TLS setting itself, so that neither libpq's environment variables nor its
// spelling of the modes decide one that the file has decided.
secret settle(section& in, std::string_view key, const secret& url, const source_config& keys,
              ssl_mode& mode) {
  auto text = url.reveal();
  auto parts = look_into(text);
  if (!parts) {
    in.report(key, text.starts_with("mysql://") || text.starts_with("mariadb://")
                       ? "MySQL and MariaDB sources are not supported yet"
                       : "expected postgresql://… or key=value text");
    return url;
  }
  const auto& said = parts->parameters;
  const auto says = [&](const char* name) {
    const auto found = said.find(name);
    return found == said.end() ? std::string{} : found->second;
  };
  auto in_force = keys.sslmode;
  if (!in_force && !says("sslmode").empty()) {
    in_force = parse_mode(says("sslmode"));
    if (!in_force)
      in.report(key,
                fmt::format("the URL's sslmode must be one of \"{}\"", fmt::join(modes, "\", \"")));
  }
  mode = in_force.value_or(mode);
  text = with_parameter(text, "sslmode", spelling(mode));
  for (const auto* name : {"sslrootcert", "sslcert", "sslkey"})
    if (!says(name).empty() && !is_file(says(name)))
      in.report(key, fmt::format("the URL's {}: there is no such file", name));
  const auto has_cert = !keys.sslcert.empty() || !says("sslcert").empty();
  const auto has_key = !keys.sslkey.empty() || !says("sslkey").empty();
  if (has_cert != has_key)
    in.report(has_cert ? "sslcert" : "sslkey", "sslcert and sslkey go together; one is missing");
  const auto has_root = !keys.sslrootcert.empty() || !says("sslrootcert").empty();
  if (has_root && !verifies(mode))
    in.note("sslrootcert",
            fmt::format("sslmode {} does not insist on it; verify-full does", spelling(mode)));
  const auto home = in.into().variable("HOME").value_or("");
  if (!has_root && verifies(mode) && !is_file(home + "/.postgresql/root.crt") &&
      is_file(public_authorities))
    text = with_parameter(text, "sslrootcert", public_authorities);
  return secret{std::move(text)};
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
  if (from_variable) {
    out.url_from = "$" + *in.text("url_env");
    out.url = settle(in, "url_env", *from_variable, out, out.sslmode_in_force);
  } else if (inline_url) {
    out.url_from = "source.url";
    out.url = settle(in, "url", secret{*inline_url}, out, out.sslmode_in_force);
  }
}

void read_admin_url(section& in, source_config& out) {
  const auto url = read_variable(in, "admin_url_env");
  if (!url)
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

} // namespace

std::string_view spelling(ssl_mode mode) noexcept {
  return modes[static_cast<std::size_t>(mode)];
}

source_config read_source(section in) {
  source_config out;
  out.at = in.at();
  read_flavor(in);
  read_name(in, out.name);
  read_mode(in, out);
  read_certificates(in, out);
  read_url(in, out);
  read_admin_url(in, out);
  read_stream(in, out);
  in.read("reconnect_max", out.reconnect_max, {.min = 0, .max = 1'000'000});
  in.read_duration("reconnect_backoff_ms", out.reconnect_backoff, {.min = 1, .max = hour_ms});
  in.read("load_workers", out.load_workers, {.min = 1, .max = 64});
  in.read("load_chunk_rows", out.load_chunk_rows, {.min = 1, .max = 1'000'000'000});
  in.read("catch_up_bytes", out.catch_up_bytes, {.min = 0, .max = std::uint64_t{1} << 50});
  in.refuse_as_later({"server_id", "poll_column", "poll_interval_secs", "poll_page_size"});
  in.finish();
  return out;
}

} // namespace cdc::config
