#include "sources/mysql/binlog/event.hpp"

#include <algorithm>
#include <array>

#include <zlib.h>

#include "sources/mysql/binlog/reader.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr std::size_t checksum_size = 4;
constexpr std::size_t flags_offset = 17;

struct named_event {
  event_type type;
  std::string_view name;
};

constexpr named_event named_events[]{
    {event_type::start_v3, "START_EVENT_V3"},
    {event_type::query, "QUERY_EVENT"},
    {event_type::stop, "STOP_EVENT"},
    {event_type::rotate, "ROTATE_EVENT"},
    {event_type::intvar, "INTVAR_EVENT"},
    {event_type::append_block, "APPEND_BLOCK_EVENT"},
    {event_type::delete_file, "DELETE_FILE_EVENT"},
    {event_type::rand, "RAND_EVENT"},
    {event_type::user_var, "USER_VAR_EVENT"},
    {event_type::format_description, "FORMAT_DESCRIPTION_EVENT"},
    {event_type::xid, "XID_EVENT"},
    {event_type::begin_load_query, "BEGIN_LOAD_QUERY_EVENT"},
    {event_type::execute_load_query, "EXECUTE_LOAD_QUERY_EVENT"},
    {event_type::table_map, "TABLE_MAP_EVENT"},
    {event_type::write_rows_v1, "WRITE_ROWS_EVENT_V1"},
    {event_type::update_rows_v1, "UPDATE_ROWS_EVENT_V1"},
    {event_type::delete_rows_v1, "DELETE_ROWS_EVENT_V1"},
    {event_type::incident, "INCIDENT_EVENT"},
    {event_type::heartbeat, "HEARTBEAT_LOG_EVENT"},
    {event_type::ignorable, "IGNORABLE_LOG_EVENT"},
    {event_type::rows_query, "ROWS_QUERY_LOG_EVENT"},
    {event_type::write_rows, "WRITE_ROWS_EVENT"},
    {event_type::update_rows, "UPDATE_ROWS_EVENT"},
    {event_type::delete_rows, "DELETE_ROWS_EVENT"},
    {event_type::gtid, "GTID_LOG_EVENT"},
    {event_type::anonymous_gtid, "ANONYMOUS_GTID_LOG_EVENT"},
    {event_type::previous_gtids, "PREVIOUS_GTIDS_LOG_EVENT"},
    {event_type::transaction_context, "TRANSACTION_CONTEXT_EVENT"},
    {event_type::view_change, "VIEW_CHANGE_EVENT"},
    {event_type::xa_prepare, "XA_PREPARE_LOG_EVENT"},
    {event_type::partial_update_rows, "PARTIAL_UPDATE_ROWS_EVENT"},
    {event_type::transaction_payload, "TRANSACTION_PAYLOAD_EVENT"},
    {event_type::heartbeat_v2, "HEARTBEAT_LOG_EVENT_V2"},
    {event_type::gtid_tagged, "GTID_TAGGED_LOG_EVENT"},
    {event_type::annotate_rows, "ANNOTATE_ROWS_EVENT"},
    {event_type::binlog_checkpoint, "BINLOG_CHECKPOINT_EVENT"},
    {event_type::mariadb_gtid, "GTID_EVENT"},
    {event_type::gtid_list, "GTID_LIST_EVENT"},
    {event_type::start_encryption, "START_ENCRYPTION_EVENT"},
    {event_type::query_compressed, "QUERY_COMPRESSED_EVENT"},
    {event_type::write_rows_compressed_v1, "WRITE_ROWS_COMPRESSED_EVENT_V1"},
    {event_type::update_rows_compressed_v1, "UPDATE_ROWS_COMPRESSED_EVENT_V1"},
    {event_type::delete_rows_compressed_v1, "DELETE_ROWS_COMPRESSED_EVENT_V1"},
    {event_type::write_rows_compressed, "WRITE_ROWS_COMPRESSED_EVENT"},
    {event_type::update_rows_compressed, "UPDATE_ROWS_COMPRESSED_EVENT"},
    {event_type::delete_rows_compressed, "DELETE_ROWS_COMPRESSED_EVENT"},
};

const Bytef* as_bytef(const std::byte* bytes) noexcept {
  return reinterpret_cast<const Bytef*>(bytes);
}

std::uint32_t crc_of(std::span<const std::byte> bytes, bool is_in_use) noexcept {
  if (!is_in_use)
    return static_cast<std::uint32_t>(crc32_z(0, as_bytef(bytes.data()), bytes.size()));
  // The flag is set in the file later, behind the checksum's back.
  auto low_flags = bytes[flags_offset] & ~std::byte{flag_in_use};
  auto crc = crc32_z(0, as_bytef(bytes.data()), flags_offset);
  crc = crc32_z(crc, as_bytef(&low_flags), 1);
  const auto rest = bytes.subspan(flags_offset + 1);
  return static_cast<std::uint32_t>(crc32_z(crc, as_bytef(rest.data()), rest.size()));
}

event_header read_header(log_reader& in) noexcept {
  event_header out;
  out.timestamp = static_cast<std::uint32_t>(in.little(4));
  out.type = static_cast<event_type>(in.little(1));
  out.server_id = static_cast<std::uint32_t>(in.little(4));
  out.size = static_cast<std::uint32_t>(in.little(4));
  out.end_position = static_cast<std::uint32_t>(in.little(4));
  out.flags = static_cast<std::uint16_t>(in.little(2));
  return out;
}

} // namespace

std::string_view to_string(event_type type) noexcept {
  const auto* const at = std::ranges::find(named_events, type, &named_event::type);
  return at == std::end(named_events) ? "event of unknown type" : at->name;
}

result<event_view> read_event(std::span<const std::byte> bytes, checksum algorithm) {
  log_reader in{bytes};
  event_view out{.header = read_header(in)};
  if (in.failed())
    return fail(errc::malformed_message, "binlog event: {} bytes are no header", bytes.size());
  out.body = bytes.subspan(event_header_size);
  if (out.header.size != bytes.size())
    return tl::unexpected(malformed(out, "another size than its header says", 0));
  auto tail = std::size_t{0};
  if (out.header.type == event_type::format_description) {
    if (out.body.size() < checksum_size + 1)
      return tl::unexpected(malformed(out, "cut short", out.body.size()));
    tail = checksum_size;
    algorithm = static_cast<checksum>(out.body[out.body.size() - checksum_size - 1]);
  } else if (algorithm == checksum::crc32) {
    tail = checksum_size;
  }
  if (out.body.size() < tail)
    return tl::unexpected(malformed(out, "cut short", out.body.size()));
  out.body = out.body.first(out.body.size() - tail);
  if (algorithm == checksum::crc32) {
    const auto covered = bytes.first(bytes.size() - checksum_size);
    log_reader stored{bytes.last(checksum_size)};
    const bool is_in_use =
        out.header.type == event_type::format_description && (out.header.flags & flag_in_use) != 0;
    if (crc_of(covered, is_in_use) != stored.little(checksum_size))
      return tl::unexpected(malformed(out, "wrong checksum", out.body.size()));
  }
  return out;
}

error malformed(const event_view& in, std::string_view what, std::size_t body_offset) {
  const auto name = to_string(in.header.type);
  return {errc::malformed_message,
          fmt::format("binlog {} ({}) ending at {}: {} at offset {} of {} bytes", name,
                      static_cast<unsigned>(in.header.type), in.header.end_position, what,
                      body_offset + event_header_size, in.header.size)};
}

} // namespace cdc::sources::mysql
