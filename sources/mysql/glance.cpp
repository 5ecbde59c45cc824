#include "sources/mysql/glance.hpp"

#include <string>

#include <mysql.h>

#include "sources/mysql/connection.hpp"
#include "sources/mysql/dump.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr auto dump_command = static_cast<enum_server_command>(18); // COM_BINLOG_DUMP

void put(std::string& to, std::uint64_t value, int bytes) {
  for (auto i = 0; i < bytes; ++i)
    to += static_cast<char>(value >> (8 * i));
}

result<void> ask(connection& on, const log_place& from) {
  constexpr auto doing = "look into the log";
  const auto checksum = on.query("SELECT @@GLOBAL.binlog_checksum", doing);
  if (!checksum)
    return tl::unexpected(checksum.error());
  const auto algorithm = quote_literal(checksum->text(0, 0));
  if (auto said = on.run(fmt::format("SET @master_binlog_checksum = {}, @source_binlog_checksum = "
                                     "{}, @mariadb_slave_capability = 4",
                                     algorithm, algorithm),
                         doing);
      !said)
    return said;
  std::string arguments;
  put(arguments, from.offset, 4);
  put(arguments, 1, 2); // BINLOG_DUMP_NON_BLOCK
  put(arguments, 0, 4); // The server_id of who only looks: a replica has another.
  arguments += from.file;
  auto* c = on.handle();
  if (c->methods->db_command(c, dump_command, arguments.data(), arguments.size(), 1, nullptr) != 0)
    return tl::unexpected(on.failure(doing));
  return {};
}

} // namespace

result<void> glance(connection& on, const log_place& from,
                    const std::function<bool(std::span<const std::byte>)>& take) {
  if (auto asked = ask(on, from); !asked)
    return asked;
  auto* c = on.handle();
  for (;;) {
    const auto size = mysql_net_read_packet(c);
    if (size == packet_error)
      return tl::unexpected(judge_dump_error(mysql_errno(c), mysql_error(c), on.describe(),
                                             {.to = {}, .from = from, .gtids = {}}));
    const auto* bytes = reinterpret_cast<const std::byte*>(c->net.read_pos);
    if (std::to_integer<unsigned>(bytes[0]) == 0xfe && size < 9)
      return {};
    if (!take({bytes + 1, size - 1}))
      return {};
  }
}

} // namespace cdc::sources::mysql
