#include "sources/mysql/errors.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <mysql.h>

namespace cdc::sources::mysql {

namespace {

std::string one_line(std::string_view message) {
  std::string out;
  for (const auto letter : message) {
    const auto is_space = letter == '\n' || letter == '\t' || letter == ' ';
    if (!is_space)
      out.push_back(letter);
    else if (!out.empty() && out.back() != ' ')
      out.push_back(' ');
  }
  return out;
}

/// Numbers of the server and, from 2000, of the library; the first that fits counts.
struct meaning {
  unsigned number;
  errc code;
  std::string_view advice; ///< For a connection that did not come about.
};

constexpr std::array meanings{
    meaning{1040, errc::source_unavailable, "raise max_connections, or free some"},
    meaning{1044, errc::permission_denied,
            "check the database in the source's URL, and the user's rights to it"},
    meaning{1045, errc::permission_denied, "check user and password in the source's URL"},
    meaning{1049, errc::source_misconfigured, "check the database in the source's URL"},
    meaning{1130, errc::permission_denied, "the user may not log in from this host"},
    meaning{1142, errc::permission_denied, {}},
    meaning{1143, errc::permission_denied, {}},
    meaning{1227, errc::permission_denied, {}},
    meaning{1370, errc::permission_denied, {}},
    meaning{1251, errc::source_misconfigured, "the server wants another way to log in"},
    meaning{1524, errc::source_misconfigured, "the server wants another way to log in"},
    meaning{1698, errc::permission_denied, "check user and password in the source's URL"},
    meaning{1820, errc::permission_denied, "the password has expired: set another at the server"},
    meaning{1862, errc::permission_denied, "the password has expired: set another at the server"},
    meaning{3118, errc::permission_denied, "the account is locked: ALTER USER … ACCOUNT UNLOCK"},
    meaning{3159, errc::permission_denied,
            "the server takes no login without TLS: set source.sslmode to require or stricter"},
    meaning{4151, errc::permission_denied, "the account is locked: ALTER USER … ACCOUNT UNLOCK"},
    meaning{1064, errc::source_misconfigured, {}},
    meaning{1193, errc::source_misconfigured, {}},
    meaning{1231, errc::source_misconfigured, {}},
    // A table or column that went away since the catalogue was read: the next life reads it again,
    // and names what is missing.
    meaning{1054, errc::source_unavailable, {}},
    meaning{1146, errc::source_unavailable, {}},
    meaning{2002, errc::source_unavailable,
            "check host and port, and that the server runs and listens there"},
    meaning{2003, errc::source_unavailable,
            "check host and port, and that the server runs and listens there"},
    meaning{2005, errc::source_unavailable,
            "check the host in the source's URL, and the name service"},
    meaning{2058, errc::source_misconfigured,
            "the server wants a way to log in that the client library does not have"},
    meaning{2059, errc::source_misconfigured,
            "the server wants a way to log in whose plugin the client library cannot load"},
};

struct tls_trouble {
  std::string_view words;
  errc code;
  std::string_view advice;
};

constexpr std::array tls_troubles{
    tls_trouble{"does not support it", errc::source_misconfigured,
                "turn on TLS at the server, or choose another sslmode"},
    tls_trouble{"self-signed", errc::source_misconfigured,
                "set source.sslrootcert to the authority's certificate"},
    tls_trouble{"self signed", errc::source_misconfigured,
                "set source.sslrootcert to the authority's certificate"},
    tls_trouble{"local issuer", errc::source_misconfigured,
                "set source.sslrootcert to the authority's certificate"},
    tls_trouble{"certificate has expired", errc::source_misconfigured,
                "renew the server's certificate"},
    tls_trouble{"host name", errc::source_misconfigured,
                "the server's certificate is for another host: name that one in the URL, or use "
                "sslmode verify-ca"},
    tls_trouble{"Validation of SSL server certificate failed", errc::source_misconfigured,
                "the server's certificate is for another host, or from another authority: see "
                "source.sslrootcert and sslmode verify-ca"},
    tls_trouble{"No such file", errc::source_misconfigured,
                "check source.sslrootcert, source.sslcert and source.sslkey"},
    tls_trouble{"key values mismatch", errc::source_misconfigured,
                "source.sslkey is not the key of source.sslcert"},
};

constexpr unsigned tls_error = 2026;

const meaning* find(unsigned number) noexcept {
  const auto* found = std::ranges::find(meanings, number, &meaning::number);
  return found == meanings.end() ? nullptr : found;
}

std::pair<errc, std::string_view> judge(unsigned number, std::string_view message) noexcept {
  if (number == tls_error) {
    for (const auto& known : tls_troubles)
      if (message.find(known.words) != std::string_view::npos)
        return {known.code, known.advice};
  }
  const auto* known = find(number);
  return {errc_of(number), known ? known->advice : std::string_view{}};
}

} // namespace

errc errc_of(unsigned number) noexcept {
  const auto* known = find(number);
  return known ? known->code : errc::source_unavailable;
}

bool is_broken(unsigned number) noexcept {
  return number >= 2000 && number < 3000;
}

error connect_error(st_mysql* from, std::string_view server) {
  if (!from)
    return {errc::source_unavailable, fmt::format("{}: out of memory", server)};
  const auto number = mysql_errno(from);
  const auto message = one_line(mysql_error(from));
  const auto [code, advice] = judge(number, message);
  return {code, fmt::format("cannot connect to {}: {} (error {}){}{}", server, message, number,
                            advice.empty() ? "" : "; ", advice)};
}

error statement_error(st_mysql* from, std::string_view server, std::string_view doing) {
  const auto number = mysql_errno(from);
  // These quote what a row holds.
  const auto quotes_values = number == 1062 || number == 1264 || number == 1292 || number == 1366 ||
                             number == 1406 || number == 3140;
  return {errc_of(number),
          fmt::format("{}: cannot {}: {} (error {})", server, doing,
                      quotes_values ? "a value was refused" : one_line(mysql_error(from)), number)};
}

} // namespace cdc::sources::mysql
