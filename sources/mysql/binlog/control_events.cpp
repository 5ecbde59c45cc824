#include "sources/mysql/binlog/control_events.hpp"

#include <cstring>

#include "sources/mysql/binlog/reader.hpp"

namespace cdc::sources::mysql {

namespace {

template <class T>
result<T> finish(const event_view& in, const log_reader& from, T made) {
  if (from.failed())
    return tl::unexpected(malformed(in, "cut short", from.offset()));
  return made;
}

tl::unexpected<error> refuse(const event_view& in, const log_reader& from, std::string_view what) {
  return tl::unexpected(malformed(in, what, from.offset()));
}

/// Status variables of a QUERY_EVENT (statement_events.h, Query_event_status_vars).
enum status_variable : std::uint8_t {
  flags2 = 0,
  sql_mode = 1,
  catalog = 2,
  auto_increment = 3,
  charset = 4,
  time_zone = 5,
  catalog_nz = 6,
};

/// Reads as far as what is asked for can stand: the servers write them in the order of their
/// numbers, and one that is not known has no length.
void read_status(std::string_view status, query& out) {
  log_reader in{std::as_bytes(std::span{status})};
  while (in.remaining() != 0 && !in.failed()) {
    switch (in.integer<std::uint8_t>()) {
      case flags2:
      case auto_increment:
        in.skip(4);
        break;
      case sql_mode: {
        const auto mode = in.little(8);
        if (!in.failed())
          out.sql_mode = mode;
        break;
      }
      case catalog:
        in.skip(in.integer<std::uint8_t>());
        in.skip(1);
        break;
      case catalog_nz:
      case time_zone:
        in.skip(in.integer<std::uint8_t>());
        break;
      case charset: {
        const auto client = in.little(2);
        in.skip(4);
        if (!in.failed())
          out.client_collation = static_cast<std::uint16_t>(client);
        break;
      }
      default:
        return;
    }
  }
}

server_uuid read_uuid(log_reader& in) noexcept {
  server_uuid out{};
  const auto bytes = in.text(out.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// MySQL's serialization library (libs/mysql/serialization): as many trailing ones in the first
/// byte as bytes follow it.
std::uint64_t read_varlen(log_reader& in) noexcept {
  const unsigned first = in.integer<std::uint8_t>();
  const auto more = static_cast<unsigned>(__builtin_ctz(~first));
  const auto rest = in.little(more);
  if (more >= 7)
    return rest; // nothing of the first byte is left
  return rest << (7 - more) | first >> (more + 1);
}

void skip_varlen(log_reader& in) noexcept {
  [[maybe_unused]] const auto skipped = read_varlen(in);
}

std::int64_t read_signed_varlen(log_reader& in) noexcept {
  const auto value = read_varlen(in);
  const auto magnitude = static_cast<std::int64_t>(value >> 1U);
  return (value & 1U) != 0 ? ~magnitude : magnitude;
}

enum class gtid_field : std::uint64_t {
  flags = 0,
  uuid = 1,
  number = 2,
  tag = 3,
  last_committed = 4,
  sequence_number = 5,
  committed_at = 6,
  originally_committed_at = 7,
  transaction_size = 8,
};

result<mysql_gtid> decode_tagged(const event_view& in) {
  log_reader from{in.body};
  mysql_gtid out;
  skip_varlen(from);                   // version of the format
  const auto size = read_varlen(from); // counted from the event's body
  skip_varlen(from);                   // the last field that must be known
  if (from.failed() || size > in.body.size())
    return refuse(in, from, "cut short");
  while (from.offset() < size && !from.failed()) {
    switch (static_cast<gtid_field>(read_varlen(from))) {
      case gtid_field::flags:
        skip_varlen(from);
        break;
      case gtid_field::uuid:
        for (auto& byte : out.uuid)
          byte = static_cast<std::byte>(read_varlen(from));
        break;
      case gtid_field::number:
        out.number = read_signed_varlen(from);
        break;
      case gtid_field::tag:
        out.tag = from.text(static_cast<std::size_t>(read_varlen(from)));
        break;
      case gtid_field::last_committed:
        out.last_committed = read_signed_varlen(from);
        break;
      case gtid_field::sequence_number:
        out.sequence_number = read_signed_varlen(from);
        break;
      case gtid_field::committed_at:
        out.committed_at = read_varlen(from);
        break;
      case gtid_field::originally_committed_at:
        out.originally_committed_at = read_varlen(from);
        break;
      case gtid_field::transaction_size:
        out.transaction_size = read_varlen(from);
        break;
      default: // fields stand in the order of their numbers, and we need none behind
        from.skip(size > from.offset() ? size - from.offset() : 0);
        break;
    }
  }
  if (out.originally_committed_at == 0)
    out.originally_committed_at = out.committed_at;
  return finish(in, from, out);
}

xa_name read_xa_name(log_reader& in, std::size_t length_size) noexcept {
  xa_name out;
  out.format = static_cast<std::int32_t>(in.little(4));
  const auto global = static_cast<std::size_t>(in.little(length_size));
  const auto branch = static_cast<std::size_t>(in.little(length_size));
  out.global = in.text(global);
  out.branch = in.text(branch);
  return out;
}

} // namespace

result<format_description> decode_format_description(const event_view& in) {
  constexpr std::size_t version_size = 50;
  log_reader from{in.body};
  format_description out;
  out.binlog_version = static_cast<std::uint16_t>(from.little(2));
  out.server_version = from.text(version_size);
  out.server_version = out.server_version.substr(0, out.server_version.find('\0'));
  if (out.server_version.find("MariaDB") != std::string_view::npos)
    out.writer = log_writer::mariadb;
  from.skip(4); // when the log was begun
  const auto header_size = from.little(1);
  if (from.failed() || from.remaining() == 0)
    return refuse(in, from, "cut short");
  if (out.binlog_version != 4)
    return refuse(in, from, "a binlog version other than 4");
  if (header_size != event_header_size)
    return refuse(in, from, "event headers of another size");
  from.skip(from.remaining() - 1); // sizes of the fixed part of each event
  out.algorithm = static_cast<checksum>(from.little(1));
  if (out.algorithm != checksum::off && out.algorithm != checksum::crc32)
    return refuse(in, from, "an unknown checksum algorithm");
  return finish(in, from, out);
}

result<rotation> decode_rotate(const event_view& in) {
  log_reader from{in.body};
  rotation out{.position = from.little(8)};
  out.file = from.text(from.remaining());
  if (!from.failed() && out.file.empty())
    return refuse(in, from, "cut short");
  return finish(in, from, out);
}

result<std::uint64_t> decode_xid(const event_view& in) {
  log_reader from{in.body};
  const auto out = from.little(8);
  return finish(in, from, out);
}

result<xa_preparation> decode_xa_prepare(const event_view& in) {
  log_reader from{in.body};
  xa_preparation out{.is_one_phase = from.little(1) != 0};
  out.name = read_xa_name(from, 4);
  return finish(in, from, out);
}

result<query> decode_query(const event_view& in) {
  log_reader from{in.body};
  query out{.thread = static_cast<std::uint32_t>(from.little(4))};
  from.skip(4); // how long it took
  const auto schema_size = from.integer<std::uint8_t>();
  out.error_code = static_cast<std::uint16_t>(from.little(2));
  const auto status = from.text(static_cast<std::size_t>(from.little(2)));
  out.schema = from.text(schema_size);
  from.skip(1); // NUL
  out.text = from.text(from.remaining());
  if (!from.failed())
    read_status(status, out);
  return finish(in, from, out);
}

result<mysql_gtid> decode_gtid(const event_view& in) {
  if (in.header.type == event_type::gtid_tagged)
    return decode_tagged(in);
  constexpr std::uint64_t has_original = std::uint64_t{1} << 55U;
  constexpr std::uint8_t logical_clock = 2;
  log_reader from{in.body};
  mysql_gtid out;
  from.skip(1); // flags
  out.uuid = read_uuid(from);
  out.number = static_cast<std::int64_t>(from.little(8));
  if (in.header.type == event_type::anonymous_gtid)
    out.number = 0;
  if (from.remaining() == 0 || from.integer<std::uint8_t>() != logical_clock)
    return finish(in, from, out);
  out.last_committed = static_cast<std::int64_t>(from.little(8));
  out.sequence_number = static_cast<std::int64_t>(from.little(8));
  if (from.remaining() == 0)
    return finish(in, from, out);
  const auto time = from.little(7);
  out.committed_at = time & (has_original - 1);
  out.originally_committed_at = (time & has_original) != 0 ? from.little(7) : out.committed_at;
  if (from.remaining() != 0)
    out.transaction_size = from.packed();
  return finish(in, from, out);
}

result<std::vector<gtid_range>> decode_previous_gtids(const event_view& in) {
  log_reader from{in.body};
  const auto head = from.little(8);
  // With tags the count stands between two bytes that say the format.
  const bool is_tagged = head >> 56U == 1;
  const auto count = is_tagged ? head >> 8U & 0xffff'ffff'ffff : head;
  std::vector<gtid_range> out;
  for (std::uint64_t i = 0; i < count && !from.failed(); ++i) {
    auto& it = out.emplace_back();
    it.uuid = read_uuid(from);
    if (is_tagged)
      it.tag = from.text(static_cast<std::size_t>(read_varlen(from)));
    const auto intervals = from.little(8);
    for (std::uint64_t k = 0; k < intervals && !from.failed(); ++k)
      it.intervals.push_back({.first = from.little(8), .end = from.little(8)});
  }
  return finish(in, from, std::move(out));
}

result<mariadb_gtid> decode_mariadb_gtid(const event_view& in) {
  enum flag : unsigned {
    standalone = 1,
    group_commit_id = 2,
    transactional = 4,
    ddl = 32,
    prepared_xa = 64,
    completed_xa = 128,
  };
  log_reader from{in.body};
  mariadb_gtid out{.server_id = in.header.server_id, .sequence = from.little(8)};
  out.domain = static_cast<std::uint32_t>(from.little(4));
  const auto flags = static_cast<unsigned>(from.little(1));
  out.is_standalone = (flags & standalone) != 0;
  out.is_transactional = (flags & transactional) != 0;
  out.is_ddl = (flags & ddl) != 0;
  out.is_xa_prepared = (flags & prepared_xa) != 0;
  out.is_xa_completed = (flags & completed_xa) != 0;
  if ((flags & group_commit_id) != 0)
    from.skip(8);
  if (out.is_xa_prepared || out.is_xa_completed)
    out.xa = read_xa_name(from, 1);
  return finish(in, from, out);
}

result<std::vector<mariadb_gtid_entry>> decode_gtid_list(const event_view& in) {
  constexpr std::uint32_t count_mask = 0x0fff'ffff; // above it: flags
  log_reader from{in.body};
  const auto count = from.little(4) & count_mask;
  std::vector<mariadb_gtid_entry> out;
  for (std::uint64_t i = 0; i < count && !from.failed(); ++i)
    out.push_back({.domain = static_cast<std::uint32_t>(from.little(4)),
                   .server_id = static_cast<std::uint32_t>(from.little(4)),
                   .sequence = from.little(8)});
  return finish(in, from, std::move(out));
}

result<std::string_view> decode_annotation(const event_view& in) {
  log_reader from{in.body};
  if (in.header.type == event_type::rows_query)
    from.skip(1); // its length, modulo 256
  const auto out = from.text(from.remaining());
  return finish(in, from, out);
}

result<encryption> decode_start_encryption(const event_view& in) {
  log_reader from{in.body};
  encryption out{.scheme = from.integer<std::uint8_t>()};
  out.key_version = static_cast<std::uint32_t>(from.little(4));
  from.skip(12); // nonce
  return finish(in, from, out);
}

result<incident> decode_incident(const event_view& in) {
  log_reader from{in.body};
  incident out{.number = static_cast<std::uint16_t>(from.little(2))};
  out.message = from.text(from.integer<std::uint8_t>());
  return finish(in, from, out);
}

result<heartbeat> decode_heartbeat(const event_view& in) {
  log_reader from{in.body};
  if (in.header.type == event_type::heartbeat)
    return finish(
        in, from,
        heartbeat{.file = from.text(from.remaining()), .position = in.header.end_position});
  enum field : unsigned { end = 0, file = 1, position = 2 };
  heartbeat out;
  for (auto type = from.packed(); type != end && !from.failed(); type = from.packed()) {
    const auto size = static_cast<std::size_t>(from.packed());
    const auto begin = from.offset();
    if (type == file)
      out.file = from.text(size);
    else if (type == position)
      out.position = from.packed();
    const auto taken = from.offset() - begin;
    from.skip(size > taken ? size - taken : 0);
  }
  return finish(in, from, out);
}

result<void> check_statement_context(const event_view& in) {
  log_reader from{in.body};
  switch (in.header.type) {
    case event_type::intvar:
      from.skip(1 + 8);
      break;
    case event_type::rand:
      from.skip(8 + 8);
      break;
    default: { // USER_VAR: name, then whether it is NULL, its type, collation and value
      from.skip(static_cast<std::size_t>(from.little(4)));
      if (from.integer<std::uint8_t>() == 0 && !from.failed()) {
        from.skip(1 + 4);
        from.skip(static_cast<std::size_t>(from.little(4)));
      }
      break;
    }
  }
  if (from.failed())
    return tl::unexpected(malformed(in, "cut short", from.offset()));
  return {};
}

} // namespace cdc::sources::mysql
