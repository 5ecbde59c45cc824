#include "sources/mysql/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include <mysql.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "sources/mysql/errors.hpp"

namespace cdc::sources::mysql {

namespace {

using clock = std::chrono::steady_clock;

// An event of the log can be as large as this, and so can a value.
constexpr std::size_t packet_max = std::size_t{1} << 30;
// Of the coroutine that the library connects in: TLS needs more than its default.
constexpr std::size_t connect_stack = std::size_t{512} << 10;

// A reader that waits for its target must not be cut off by the server meanwhile.
constexpr std::string_view pinned_settings =
    "SET time_zone='+00:00', sql_mode='NO_ENGINE_SUBSTITUTION', lc_time_names='en_US', "
    "SESSION group_concat_max_len=1048576, SESSION net_write_timeout=31536000, "
    "SESSION net_read_timeout=3600, SESSION wait_timeout=31536000, "
    "SESSION transaction_isolation='READ-COMMITTED'";

void use_library() {
  static std::once_flag once;
  std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
}

/// Waits for what the library waits for; the MYSQL_WAIT_… bits that came, or nothing when stopped.
std::optional<int> wait(int socket, int wanted, const stop_signal* stop,
                        clock::time_point deadline) {
  short events = 0;
  if (wanted & MYSQL_WAIT_READ)
    events |= POLLIN;
  if (wanted & MYSQL_WAIT_WRITE)
    events |= POLLOUT;
  std::array<pollfd, 2> on{
      {{.fd = socket, .events = events, .revents = 0},
       {.fd = stop ? stop->descriptor() : -1, .events = POLLIN, .revents = 0}}};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    const auto ready =
        ::poll(on.data(), on.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (ready < 0 && errno == EINTR)
      continue;
    if (on[1].revents != 0)
      return std::nullopt;
    if (ready > 0 && (on[0].revents & POLLOUT) != 0)
      return MYSQL_WAIT_WRITE;
    if (ready > 0)
      return wanted & MYSQL_WAIT_READ ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE;
    if (clock::now() >= deadline)
      return MYSQL_WAIT_TIMEOUT;
  }
}

// `5.5.5-10.11.19-MariaDB-0+deb12u1-log`: some clients need a MariaDB to call itself a MySQL.
server_version parse_version(std::string_view text) {
  server_version out;
  out.text = text;
  out.is_mariadb = text.find("MariaDB") != std::string_view::npos;
  if (out.is_mariadb && text.starts_with("5.5.5-"))
    text.remove_prefix(6);
  for (auto i = 0; i < 3; ++i) {
    std::uint32_t part = 0;
    const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), part);
    text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
    out.number = out.number * 100 + part;
  }
  return out;
}

} // namespace

// -- rows -----------------------------------------------------------------------------------------

std::string_view rows::text(std::size_t row, std::string_view name) const noexcept {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? std::string_view{}
                               : text(row, static_cast<std::size_t>(found - names_.begin()));
}

bool rows::flag(std::size_t row, std::size_t column) const noexcept {
  const auto said = text(row, column);
  return said == "1" || said == "ON" || said == "YES";
}

// -- connecting -----------------------------------------------------------------------------------

void connection::close::operator()(st_mysql* from) const noexcept {
  mysql_close(from);
}

void connection::release::operator()(st_mysql_res* from) const noexcept {
  mysql_free_result(from);
}

connection::connection(st_mysql* from, const endpoint& to, std::shared_ptr<stop_signal> stop)
    : from_(from), description_(to.describe()), database_(to.database), stop_(std::move(stop)) {
  // nop
}

connection::connection(connection&& other) noexcept
    : from_(std::move(other.from_)), description_(std::move(other.description_)),
      database_(std::move(other.database_)), stop_(std::move(other.stop_)),
      version_(std::move(other.version_)), socket_(std::exchange(other.socket_, -1)),
      rows_(std::move(other.rows_)), doing_(std::move(other.doing_)), is_broken_(other.is_broken_) {
  // nop
}

connection& connection::operator=(connection&& other) noexcept {
  if (this == &other)
    return *this;
  let_go();
  from_ = std::move(other.from_);
  description_ = std::move(other.description_);
  database_ = std::move(other.database_);
  stop_ = std::move(other.stop_);
  version_ = std::move(other.version_);
  socket_ = std::exchange(other.socket_, -1);
  rows_ = std::move(other.rows_);
  doing_ = std::move(other.doing_);
  is_broken_ = other.is_broken_;
  return *this;
}

connection::~connection() {
  let_go();
}

void connection::let_go() noexcept {
  if (stop_ && socket_ >= 0)
    stop_->forget(socket_);
  // Rows that were not read would be read now, all of them: the peer is left alone instead, and
  // told so by a reset. Without one a server that waits to send finds out minutes later.
  if (rows_ && socket_ >= 0) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::shutdown(socket_, SHUT_RDWR);
  }
  socket_ = -1;
  rows_.reset();
  from_.reset();
}

result<connection> connection::open(const endpoint& to, std::shared_ptr<stop_signal> stop) {
  use_library();
  connection out{mysql_init(nullptr), to, std::move(stop)};
  if (!out.from_)
    return tl::unexpected(connect_error(nullptr, out.description_));
  out.set_options(to);
  if (auto done = out.establish(to); !done)
    return tl::unexpected(done.error());
  if (auto good = out.check_encryption(to); !good)
    return tl::unexpected(good.error());
  out.read_version();
  // Both products take the one name or the other for the isolation level.
  auto settings = std::string{pinned_settings};
  if (out.version_.is_mariadb && out.version_.number < 110'100)
    settings.replace(settings.find("transaction_isolation"), 21, "tx_isolation");
  if (auto pinned = out.run(settings, "set the session up"); !pinned)
    return tl::unexpected(pinned.error());
  return out;
}

result<connection> connection::open(const config::source_config& source, std::string_view role,
                                    std::shared_ptr<stop_signal> stop) {
  const auto to = endpoint::make(source, role);
  return to ? open(*to, std::move(stop)) : result<connection>{tl::unexpected(to.error())};
}

void connection::set_options(const endpoint& to) {
  auto* c = from_.get();
  const auto set_text = [&](mysql_option what, const std::string& value) {
    if (!value.empty())
      mysql_options(c, what, value.c_str());
  };
  const unsigned protocol = MYSQL_PROTOCOL_TCP;
  mysql_options(c, MYSQL_OPT_PROTOCOL, &protocol);
  mysql_options(c, MYSQL_OPT_NONBLOCK, &connect_stack);
  mysql_options(c, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet_max);
  mysql_options(c, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const unsigned local_infile = 0;
  mysql_options(c, MYSQL_OPT_LOCAL_INFILE, &local_infile);
  mysql_options4(c, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", to.program.c_str());
  if (const auto seconds = static_cast<unsigned>(to.read_timeout.count()); seconds > 0)
    mysql_options(c, MYSQL_OPT_READ_TIMEOUT, &seconds);
  set_text(MYSQL_SERVER_PUBLIC_KEY, to.server_public_key);
  if (to.sslmode == config::ssl_mode::disable)
    return;
  const my_bool yes = 1;
  mysql_options(c, MYSQL_OPT_SSL_ENFORCE, &yes);
  set_text(MYSQL_OPT_SSL_CERT, to.sslcert);
  set_text(MYSQL_OPT_SSL_KEY, to.sslkey);
  // With an authority named the library checks the chain; the host's name only when told to.
  set_text(MYSQL_OPT_SSL_CA, to.sslrootcert);
  if (to.sslmode == config::ssl_mode::verify_full)
    mysql_options(c, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
}

result<void> connection::establish(const endpoint& to) {
  auto* c = from_.get();
  const auto deadline = clock::now() + to.connect_timeout;
  MYSQL* connected = nullptr;
  const auto* database = to.database.empty() ? nullptr : to.database.c_str();
  auto wanted =
      mysql_real_connect_start(&connected, c, to.host.c_str(), to.user.c_str(),
                               to.password.reveal().c_str(), database, to.port, nullptr, 0);
  while (wanted != 0) {
    const auto came = wait(static_cast<int>(mysql_get_socket(c)), wanted, stop_.get(), deadline);
    if (!came)
      return fail(errc::cancelled, "{}: stopped while connecting", description_);
    if (*came == MYSQL_WAIT_TIMEOUT)
      return fail(errc::source_unavailable,
                  "cannot connect to {}: no answer within {} s; check host, port and firewall",
                  description_, to.connect_timeout.count());
    wanted = mysql_real_connect_cont(&connected, c, *came);
  }
  if (!connected)
    return tl::unexpected(connect_error(c, description_));
  socket_ = static_cast<int>(mysql_get_socket(c));
  guard_socket();
  if (stop_)
    stop_->watch(socket_);
  return {};
}

// The library goes on in the clear when the server offers no TLS.
result<void> connection::check_encryption(const endpoint& to) const {
  if (to.sslmode == config::ssl_mode::disable || to.sslmode == config::ssl_mode::prefer ||
      is_encrypted())
    return {};
  return fail(
      errc::source_misconfigured,
      "cannot connect to {}: the server offers no TLS, which sslmode {} insists on; turn on "
      "TLS at the server, or choose another sslmode",
      description_, config::spelling(to.sslmode));
}

void connection::guard_socket() const noexcept {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket_, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 11'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

void connection::read_version() {
  const auto* said = mysql_get_server_info(from_.get());
  version_ = parse_version(said ? said : "");
}

// -- statements -----------------------------------------------------------------------------------

result<rows> connection::query(std::string_view sql, std::string_view doing) {
  if (auto begun = begin_rows(sql, doing); !begun)
    return tl::unexpected(begun.error());
  rows out;
  if (!rows_)
    return out;
  out.columns_ = mysql_num_fields(rows_.get());
  const auto* fields = mysql_fetch_fields(rows_.get());
  for (std::size_t i = 0; i < out.columns_; ++i)
    out.names_.emplace_back(fields[i].name, fields[i].name_length);
  for (row_view row;;) {
    const auto more = next_row(row);
    if (!more)
      return tl::unexpected(more.error());
    if (!*more)
      return out;
    for (std::size_t i = 0; i < row.columns; ++i)
      out.cells_.push_back(row.is_null(i) ? std::nullopt : std::optional{std::string{row.text(i)}});
  }
}

result<void> connection::run(std::string_view sql, std::string_view doing) {
  const auto got = query(sql, doing);
  if (!got)
    return tl::unexpected(got.error());
  return {};
}

result<void> connection::begin_rows(std::string_view sql, std::string_view doing) {
  auto* c = from_.get();
  doing_ = doing;
  if (mysql_real_query(c, sql.data(), static_cast<unsigned long>(sql.size())) != 0)
    return tl::unexpected(failure(doing));
  rows_.reset(mysql_use_result(c));
  if (!rows_ && mysql_errno(c) != 0)
    return tl::unexpected(failure(doing));
  return {};
}

result<bool> connection::next_row(row_view& row) {
  if (!rows_)
    return false;
  row.values = mysql_fetch_row(rows_.get());
  if (row.values) {
    row.sizes = mysql_fetch_lengths(rows_.get());
    row.columns = mysql_num_fields(rows_.get());
    return true;
  }
  rows_.reset();
  if (mysql_errno(from_.get()) != 0)
    return tl::unexpected(failure(doing_));
  return false;
}

result<void> connection::end_rows() {
  for (row_view row; rows_;) {
    const auto more = next_row(row);
    if (!more)
      return tl::unexpected(more.error());
  }
  return {};
}

error connection::failure(std::string_view doing) {
  is_broken_ |= mysql::is_broken(mysql_errno(from_.get()));
  if (stop_ && stop_->raised())
    return {errc::cancelled, fmt::format("{}: stopped", description_)};
  return statement_error(from_.get(), description_, doing);
}

// -- the rest -------------------------------------------------------------------------------------

std::uint64_t connection::id() const noexcept {
  return mysql_thread_id(from_.get());
}

bool connection::is_encrypted() const noexcept {
  return mysql_get_ssl_cipher(from_.get()) != nullptr;
}

std::string quote_identifier(std::string_view name) {
  std::string out{"`"};
  for (const auto letter : name) {
    if (letter == '`')
      out += '`';
    out += letter;
  }
  out += '`';
  return out;
}

std::string quote_literal(std::string_view text) {
  std::string out{"'"};
  for (const auto letter : text) {
    if (letter == '\0') {
      out += "\\0";
      continue;
    }
    if (letter == '\'' || letter == '\\')
      out += '\\';
    out += letter;
  }
  out += '\'';
  return out;
}

} // namespace cdc::sources::mysql
