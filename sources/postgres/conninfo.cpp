#include "sources/postgres/conninfo.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include <libpq-fe.h>

namespace cdc::sources::postgres {

namespace {

struct free_options {
  void operator()(PQconninfoOption* from) const noexcept { PQconninfoFree(from); }
};
using options = std::unique_ptr<PQconninfoOption, free_options>;

// The connection string's last setting of a name wins, so these stand behind the user's own
// options. standard_conforming_strings makes doubling quotes enough. With row_security off, a
// policy that would hide rows is an error and not a table that looks smaller than it is.
constexpr std::string_view pinned_settings = " -c TimeZone=UTC"
                                             " -c DateStyle=ISO"
                                             " -c IntervalStyle=postgres"
                                             " -c extra_float_digits=3"
                                             " -c bytea_output=hex"
                                             " -c lc_monetary=C"
                                             " -c search_path="
                                             " -c statement_timeout=0"
                                             " -c lock_timeout=0"
                                             " -c idle_in_transaction_session_timeout=0"
                                             " -c standard_conforming_strings=on"
                                             " -c row_security=off"
                                             " -c synchronous_commit=local";

std::string_view to_string(config::ssl_mode mode) noexcept {
  switch (mode) {
    case config::ssl_mode::disable:
      return "disable";
    case config::ssl_mode::prefer:
      return "prefer";
    case config::ssl_mode::require:
      return "require";
    case config::ssl_mode::verify_ca:
      return "verify-ca";
    case config::ssl_mode::verify_full:
      return "verify-full";
  }
  return "prefer";
}

// What libpq says of a text it cannot read quotes pieces of it, and one of them may be the
// password.
std::string without_quotations(std::string_view message) {
  auto said = message.substr(0, message.find('"'));
  while (!said.empty() && (said.back() == ' ' || said.back() == '\n' || said.back() == ':'))
    said.remove_suffix(1);
  return said.empty() ? std::string{"it is not understood"} : std::string{said};
}

result<options> parse(const std::string& text, std::string_view named) {
  char* message = nullptr;
  options parsed{PQconninfoParse(text.c_str(), &message)};
  if (parsed)
    return parsed;
  const auto why = without_quotations(message ? message : "");
  PQfreemem(message);
  return fail(errc::invalid_config,
              "{} is neither a postgresql:// URL nor a key=value connection string: {}", named,
              why);
}

} // namespace

result<conninfo> conninfo::make(const config::source_config& source, purpose use,
                                std::string_view role) {
  const auto strong = use == purpose::admin || use == purpose::admin_replication;
  const auto& url = strong && source.admin_url ? *source.admin_url : source.url;
  const auto named = strong && source.admin_url ? std::string{"the source's admin URL"}
                     : source.url_from.empty()  ? std::string{"the source's URL"}
                                                : source.url_from;
  auto parsed = parse(url.reveal(), named);
  if (!parsed)
    return tl::unexpected(parsed.error());
  conninfo out;
  for (const auto* at = parsed->get(); at->keyword; ++at) {
    if (at->val && std::string_view{at->keyword} != "replication")
      out.parameters_.emplace_back(at->keyword, at->val);
  }
  if (source.sslmode)
    out.set("sslmode", std::string{to_string(*source.sslmode)});
  const auto merge = [&](std::string_view key, const std::string& value) {
    if (!value.empty())
      out.set(key, value);
  };
  merge("sslrootcert", source.sslrootcert);
  merge("sslcert", source.sslcert);
  merge("sslkey", source.sslkey);
  if (use == purpose::replication || use == purpose::admin_replication)
    out.set("replication", "database");
  out.pin("cdc-actors " + (source.name.empty() ? std::string{} : source.name + " ") +
          std::string{role});
  out.read_back();
  return out;
}

std::vector<const char*> conninfo::keywords() const {
  std::vector<const char*> out;
  for (const auto& [key, value] : parameters_)
    out.push_back(key.c_str());
  out.push_back(nullptr);
  return out;
}

std::vector<const char*> conninfo::values() const {
  std::vector<const char*> out;
  for (const auto& [key, value] : parameters_)
    out.push_back(value.c_str());
  out.push_back(nullptr);
  return out;
}

void conninfo::set(std::string_view key, std::string value) {
  const auto found =
      std::ranges::find(parameters_, key, &std::pair<std::string, std::string>::first);
  if (found != parameters_.end())
    found->second = std::move(value);
  else
    parameters_.emplace_back(key, std::move(value));
}

void conninfo::set_default(std::string_view key, std::string value) {
  if (std::ranges::find(parameters_, key, &std::pair<std::string, std::string>::first) ==
      parameters_.end())
    parameters_.emplace_back(key, std::move(value));
}

std::string conninfo::value_of(std::string_view key) const {
  const auto found =
      std::ranges::find(parameters_, key, &std::pair<std::string, std::string>::first);
  return found == parameters_.end() ? std::string{} : found->second;
}

void conninfo::pin(std::string_view application_name) {
  set("application_name", std::string{application_name});
  set("client_encoding", "UTF8");
  set("options", value_of("options") + std::string{pinned_settings});
  set_default("connect_timeout", "10");
  set_default("keepalives", "1");
  set_default("keepalives_idle", "5");
  set_default("keepalives_interval", "2");
  set_default("keepalives_count", "3");
  set_default("tcp_user_timeout", "4000");
  // Slots live on the primary: of several hosts, take the one that writes.
  if (value_of("host").find(',') != std::string::npos)
    set_default("target_session_attrs", "read-write");
}

void conninfo::read_back() {
  const options defaults{PQconndefaults()};
  const auto effective = [&](std::string_view key) {
    auto value = value_of(key);
    for (const auto* at = defaults.get(); value.empty() && at && at->keyword; ++at) {
      if (key == at->keyword && at->val)
        value = at->val;
    }
    return value;
  };
  auto host = effective("host");
  if (host.empty())
    host = effective("hostaddr");
  user_ = effective("user");
  database_ = effective("dbname");
  if (database_.empty())
    database_ = user_;
  description_ = fmt::format("{}:{}/{} as {}", host.empty() ? "local socket" : host,
                             effective("port"), database_, user_);
  const auto timeout = value_of("connect_timeout");
  int seconds = 0;
  std::from_chars(timeout.data(), timeout.data() + timeout.size(), seconds);
  // libpq's rule: zero or less is no limit, and one second is taken for two.
  connect_timeout_ = std::chrono::seconds{seconds <= 0 ? 3600 : std::max(seconds, 2)};
}

} // namespace cdc::sources::postgres
