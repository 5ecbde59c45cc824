#include "sources/postgres/errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <libpq-fe.h>

namespace cdc::sources::postgres {

namespace {

std::string one_line(std::string_view message) {
  std::string out;
  for (const auto c : message) {
    const auto is_space = c == '\n' || c == '\t' || c == ' ';
    if (!is_space)
      out.push_back(c);
    else if (!out.empty() && out.back() != ' ')
      out.push_back(' ');
  }
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return out;
}

// Every SQLSTATE has a digit, and FATAL would pass for one otherwise.
bool is_sqlstate(std::string_view text) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto fits = [&](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); };
  return text.size() == 5 && std::ranges::all_of(text, fits) && std::ranges::any_of(text, is_digit);
}

// `… FATAL:  28P01: password authentication failed …`, as PQERRORS_VERBOSE has it.
std::string_view find_sqlstate(std::string_view message) noexcept {
  for (auto at = message.find(": "); at != std::string_view::npos;
       at = message.find(": ", at + 1)) {
    const auto from = message.find_first_not_of(' ', at + 1);
    if (from == std::string_view::npos)
      break;
    if (message.size() > from + 5 && message[from + 5] == ':' &&
        is_sqlstate(message.substr(from, 5)))
      return message.substr(from, 5);
  }
  return {};
}

// Verbose messages end in `LOCATION:  auth_failed, auth.c:326`, which helps nobody here.
std::string_view without_location(std::string_view message) noexcept {
  return message.substr(0, message.find("\nLOCATION:"));
}

bool says(std::string_view message, std::string_view words) noexcept {
  return message.find(words) != std::string_view::npos;
}

/// What libpq itself says when it did not come to a conversation, and what to do about it.
std::pair<errc, std::string_view> judge_client_message(std::string_view message) noexcept {
  struct entry {
    std::string_view words;
    errc code;
    std::string_view advice;
  };
  static constexpr std::array entries{
      entry{"does not match host name", errc::source_misconfigured,
            "the certificate is for another name: connect by the name in it, or use "
            "sslmode=verify-ca"},
      entry{"certificate verify failed", errc::source_misconfigured,
            "sslrootcert must hold the authority that signed the server's certificate"},
      entry{"root certificate file", errc::source_misconfigured,
            "set source.sslrootcert to the authority's certificate"},
      entry{"server does not support SSL", errc::source_misconfigured,
            "turn on ssl at the server, or choose another sslmode"},
      entry{"certificate file", errc::source_misconfigured, "check source.sslcert"},
      entry{"private key file", errc::source_misconfigured,
            "check source.sslkey: it must exist and be readable by its owner alone"},
      entry{"invalid port number", errc::invalid_config, "check the port in the source's URL"},
      entry{"invalid sslmode", errc::invalid_config, "see source.sslmode"},
      entry{"no password supplied", errc::permission_denied,
            "the server wants a password: put one into the URL or a password file"},
      entry{"could not translate host name", errc::source_unavailable,
            "check the host in the source's URL, and the name service"},
      entry{"Connection refused", errc::source_unavailable,
            "check host and port, and that the server runs and listens there"},
      entry{"No such file or directory", errc::source_unavailable,
            "no server listens on that socket: check the host in the source's URL"},
      entry{"timed out", errc::source_unavailable, "check host, port and firewall"},
      entry{"timeout expired", errc::source_unavailable, "check host, port and firewall"},
  };
  for (const auto& known : entries) {
    if (says(message, known.words))
      return {known.code, known.advice};
  }
  return {errc::source_unavailable, {}};
}

std::string_view connect_advice(std::string_view sqlstate) noexcept {
  if (sqlstate == "28P01")
    return "check user and password in the source's URL";
  if (sqlstate == "28000")
    return "check the user in the source's URL, and pg_hba.conf for this user, database and host "
           "(and whether it wants TLS)";
  if (sqlstate == "3D000")
    return "check the database in the source's URL";
  if (sqlstate == "42501")
    return "the user lacks REPLICATION, or CONNECT on the database";
  if (sqlstate == "53300")
    return "raise max_connections or max_wal_senders, or free some";
  return {};
}

std::string with_advice(const std::string& text, std::string_view advice) {
  return advice.empty() ? text : text + "; " + std::string{advice};
}

} // namespace

errc errc_of(std::string_view sqlstate) noexcept {
  if (sqlstate == "42501" || sqlstate.starts_with("28"))
    return errc::permission_denied;
  if (sqlstate == "55006")
    return errc::slot_in_use;
  if (sqlstate == "58P01")
    return errc::position_lost;
  // A table or column that went away since the catalogue was read: the next life reads it again,
  // and names what is missing.
  if (sqlstate == "42P01" || sqlstate == "42703")
    return errc::source_unavailable;
  if (sqlstate == "3D000" || sqlstate == "3F000" || sqlstate == "53400" || sqlstate == "55000" ||
      sqlstate.starts_with("42") || sqlstate.starts_with("0A"))
    return errc::source_misconfigured;
  return errc::source_unavailable;
}

error connect_error(const pg_conn* from, std::string_view server) {
  if (!from)
    return {errc::source_unavailable, fmt::format("{}: out of memory", server)};
  const auto message = without_location(PQerrorMessage(from));
  const auto sqlstate = find_sqlstate(message);
  if (sqlstate.empty()) {
    const auto [code, advice] = judge_client_message(message);
    return {code, with_advice(fmt::format("cannot connect to {}: {}", server, one_line(message)),
                              advice)};
  }
  return {errc_of(sqlstate),
          with_advice(fmt::format("cannot connect to {}: {}", server, one_line(message)),
                      connect_advice(sqlstate))};
}

error broken_connection(const pg_conn* from, std::string_view server, std::string_view doing) {
  const auto message = one_line(from ? PQerrorMessage(from) : "");
  return {errc::source_unavailable,
          fmt::format("{}: cannot {}: {}", server, doing,
                      message.empty() ? "the connection broke" : message)};
}

error statement_error(const pg_result* from, std::string_view server, std::string_view doing) {
  const auto field = [&](int code) -> std::string_view {
    const auto* text = PQresultErrorField(from, code);
    return text ? text : std::string_view{};
  };
  const auto sqlstate = field(PG_DIAG_SQLSTATE);
  if (sqlstate.empty())
    return {errc::source_unavailable,
            fmt::format("{}: cannot {}: {}", server, doing, one_line(PQresultErrorMessage(from)))};
  const auto is_without_publication =
      sqlstate == "42704" && says(field(PG_DIAG_MESSAGE_PRIMARY), "publication");
  if (is_without_publication)
    return {
        errc_of(sqlstate),
        fmt::format("{}: cannot {}: {} (SQLSTATE {}). If it does now, it was made after what is "
                    "to be read was written: run --fresh-slot-and-load, which drops the slot and "
                    "loads anew",
                    server, doing, one_line(field(PG_DIAG_MESSAGE_PRIMARY)), sqlstate)};
  const auto quotes_values = sqlstate.starts_with("22") || sqlstate.starts_with("23");
  return {errc_of(sqlstate), fmt::format("{}: cannot {}: {} (SQLSTATE {})", server, doing,
                                         quotes_values ? "a value was refused"
                                                       : one_line(field(PG_DIAG_MESSAGE_PRIMARY)),
                                         sqlstate)};
}

} // namespace cdc::sources::postgres
