#include "sources/mysql/dump.hpp"

#include <array>
#include <utility>

#include <mysql.h>

#include "sources/mysql/connection.hpp"
#include "sources/mysql/errors.hpp"

namespace cdc::sources::mysql {

namespace {

// Names of COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID; the library has no word for the second.
constexpr auto by_place = static_cast<enum_server_command>(18);
constexpr auto by_gtid = static_cast<enum_server_command>(30);

constexpr std::uint64_t without_waiting = 1; // BINLOG_DUMP_NON_BLOCK

// Heartbeats come each second: this long without any, the peer is dead.
constexpr unsigned silence_max_s = 10;

void put(std::string& to, std::uint64_t value, int bytes) {
  for (auto i = 0; i < bytes; ++i)
    to += static_cast<char>(value >> (8 * i));
}

bool says(std::string_view message, std::string_view words) noexcept {
  return message.find(words) != std::string_view::npos;
}

result<checksum> prepare(connection& on, const dump_request& request) {
  constexpr auto doing = "prepare to read the log";
  const auto found = on.query("SELECT @@GLOBAL.binlog_checksum", doing);
  if (!found)
    return tl::unexpected(found.error());
  const std::string algorithm{found->text(0, 0)};
  // Events of the file come with their checksums as they are, whatever is agreed on; but the server
  // refuses whoever says nothing.
  auto settings = fmt::format("SET @master_binlog_checksum = {}, "
                              "@master_heartbeat_period = 1000000000",
                              quote_literal(algorithm));
  if (on.version().is_mariadb) {
    settings += ", @mariadb_slave_capability = 4";
    if (request.gtids)
      settings += ", @slave_connect_state = " + quote_literal(*request.gtids) +
                  ", @slave_gtid_strict_mode = 1, @slave_gtid_ignore_duplicates = 0";
  } else {
    settings += fmt::format(", @source_binlog_checksum = {}, @source_heartbeat_period = 1000000000",
                            quote_literal(algorithm));
    // The server ends an older stream with the same UUID, as it does with the same server_id.
    const auto id = fmt::format("{:08x}-cdc0-0000-0000-000000000000", request.server_id);
    if (request.server_id != 0)
      settings += fmt::format(", @replica_uuid = '{}', @slave_uuid = '{}'", id, id);
  }
  if (auto set = on.run(settings, doing); !set)
    return tl::unexpected(set.error());
  return algorithm == "CRC32" ? checksum::crc32 : checksum::off;
}

result<void> command(connection& on, const dump_request& request) {
  std::string arguments;
  const auto with_set = request.gtids && !on.version().is_mariadb;
  if (with_set) {
    put(arguments, 4, 2); // BINLOG_THROUGH_GTID
    put(arguments, request.server_id, 4);
    put(arguments, 0, 4);
    put(arguments, 4, 8);
    put(arguments, request.gtids->size(), 4);
    arguments += *request.gtids;
  } else {
    put(arguments, request.gtids ? 4 : request.from.offset, 4);
    put(arguments, request.server_id == 0 ? without_waiting : 0, 2);
    put(arguments, request.server_id, 4);
    if (!request.gtids)
      arguments += request.from.file;
  }
  auto* c = on.handle();
  if (c->methods->db_command(c, with_set ? by_gtid : by_place, arguments.data(), arguments.size(),
                             1, nullptr) != 0)
    return tl::unexpected(on.failure("ask for the log"));
  return {};
}

} // namespace

log_dump::log_dump(dump_request request, std::size_t bytes_ahead)
    : request_(std::move(request)), events_(bytes_ahead), thread_([this] { run(); }) {
  // nop
}

log_dump::~log_dump() {
  stop();
  thread_.join();
}

void log_dump::stop() noexcept {
  stop_->raise();
  events_.close();
}

void log_dump::run() {
  if (auto done = read(); !done)
    events_.fail(std::move(done.error()));
  mysql_thread_end();
}

result<void> log_dump::read() {
  auto to = request_.to;
  to.read_timeout = std::chrono::seconds{silence_max_s};
  auto on = connection::open(to, stop_);
  if (!on)
    return tl::unexpected(on.error());
  const auto negotiated = ask_for_log(*on, request_);
  if (!negotiated)
    return tl::unexpected(negotiated.error());
  negotiated_ = *negotiated;
  for (;;) {
    const auto event = next_event(*on, request_);
    if (!event && stop_->raised())
      return fail(errc::cancelled, "{}: stopped", on->describe());
    if (!event)
      return tl::unexpected(event.error());
    if (!*event)
      return fail(errc::source_unavailable, "{}: the server ended the log's stream",
                  on->describe());
    if (!events_.push(**event))
      return {};
  }
}

result<checksum> ask_for_log(connection& on, const dump_request& request) {
  const auto negotiated = prepare(on, request);
  if (!negotiated)
    return negotiated;
  if (auto sent = command(on, request); !sent)
    return tl::unexpected(sent.error());
  return negotiated;
}

result<std::optional<std::span<const std::byte>>> next_event(connection& on,
                                                             const dump_request& request) {
  auto* c = on.handle();
  const auto size = mysql_net_read_packet(c);
  if (size == packet_error)
    return tl::unexpected(judge_dump_error(mysql_errno(c), mysql_error(c), on.describe(), request));
  const auto* bytes = reinterpret_cast<const std::byte*>(c->net.read_pos);
  const auto head = std::to_integer<unsigned>(bytes[0]);
  if (head == 0xfe && size < 9)
    return std::nullopt;
  if (head != 0)
    return fail(errc::malformed_message,
                "{}: a packet of the log's stream begins with {:#04x}: semi-synchronous "
                "replication was not asked for",
                on.describe(), head);
  return std::span{bytes + 1, size - 1};
}

error judge_dump_error(unsigned number, std::string_view message, std::string_view server,
                       const dump_request& request) {
  constexpr unsigned fatal_in_log = 1236;
  const auto from =
      request.gtids ? std::string{"the GTIDs that were read"} : to_string(request.from);
  const auto said =
      fmt::format("{}: cannot read the log from {}: {} (error {})", server, from, message, number);
  constexpr auto ways_on = "; what the targets lack is not in the log any more: load them anew "
                           "(run --fresh-start-and-load), or point "
                           "the URL at a server that still has it";
  if (number == fatal_in_log) {
    // Another replica came with the same number.
    if (says(message, "same server_uuid/server_id") || says(message, "same server_id"))
      return {errc::slot_in_use,
              said + "; each reader of a server needs a source.server_id of its own"};
    if (says(message, "Could not find first log file") || says(message, "purged") ||
        says(message, "Could not find GTID state") || says(message, "not in the master's binlog") ||
        says(message, "more recent") || says(message, "has more GTIDs"))
      return {errc::position_lost, said + ways_on};
    if (says(message, "Binary log is not open"))
      return {errc::source_misconfigured, said + "; set log_bin at the server and restart it"};
    if (says(message, "exceeded max_allowed_packet") || says(message, "bogus data") ||
        says(message, "impossible position") || says(message, "Client requested"))
      return {errc::position_lost, said + ways_on};
    return {errc::source_unavailable, said};
  }
  const auto code = errc_of(number);
  if (code == errc::permission_denied)
    return {code, said + "; GRANT REPLICATION SLAVE ON *.* TO the source's user"};
  return {code, said};
}

} // namespace cdc::sources::mysql
