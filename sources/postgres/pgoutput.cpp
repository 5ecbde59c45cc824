#include "sources/postgres/pgoutput.hpp"

#include "sources/byte_reader.hpp"

namespace cdc::sources::postgres {

namespace {

// 2000-01-01 00:00:00 UTC.
constexpr std::int64_t epoch_2000 = 946'684'800'000'000;

// Of Relation's columns: LOGICALREP_IS_REPLICA_IDENTITY.
constexpr std::uint8_t column_is_identity = 1;
// Of Truncate: TRUNCATE_CASCADE, TRUNCATE_RESTART_SEQS.
constexpr std::uint8_t truncate_cascade = 1;
constexpr std::uint8_t truncate_restart_identity = 2;
// Of Message: MESSAGE_TRANSACTIONAL.
constexpr std::uint8_t message_is_transactional = 1;

position read_position(byte_reader& in) noexcept {
  return {in.integer<std::uint64_t>()};
}

// pg_catalog is sent as an empty name.
std::string_view read_schema(byte_reader& in) noexcept {
  const auto name = in.c_string();
  return name.empty() ? "pg_catalog" : name;
}

/// A message that must have been read to its last byte, or what was wrong with it.
template <class Message>
result<Message> finished(const byte_reader& in, message_type type, Message&& out) {
  if (in.complete())
    return std::forward<Message>(out);
  return fail(errc::malformed_message, "pgoutput {}: {} at offset {} of {} bytes", to_string(type),
              in.failed() ? "cut short" : "too long", in.offset(), in.offset() + in.remaining());
}

byte_reader body_of(std::span<const std::byte> message) noexcept {
  byte_reader in{message};
  [[maybe_unused]] const auto type = in.integer<std::uint8_t>();
  return in;
}

bool is_identity(char letter) noexcept {
  return letter == 'd' || letter == 'n' || letter == 'f' || letter == 'i';
}

} // namespace

std::optional<message_type> type_of(std::span<const std::byte> message) noexcept {
  if (message.empty())
    return std::nullopt;
  const auto type = static_cast<message_type>(message.front());
  switch (type) {
    case message_type::begin:
    case message_type::commit:
    case message_type::origin:
    case message_type::relation:
    case message_type::type:
    case message_type::insert:
    case message_type::update:
    case message_type::remove:
    case message_type::truncate:
    case message_type::message:
      return type;
  }
  return std::nullopt;
}

std::string_view to_string(message_type type) noexcept {
  switch (type) {
    case message_type::begin:
      return "begin";
    case message_type::commit:
      return "commit";
    case message_type::origin:
      return "origin";
    case message_type::relation:
      return "relation";
    case message_type::type:
      return "type";
    case message_type::insert:
      return "insert";
    case message_type::update:
      return "update";
    case message_type::remove:
      return "delete";
    case message_type::truncate:
      return "truncate";
    case message_type::message:
      return "message";
  }
  return {};
}

std::int64_t unix_microseconds(std::uint64_t since_2000) noexcept {
  return static_cast<std::int64_t>(since_2000 + static_cast<std::uint64_t>(epoch_2000));
}

result<begin_message> decode_begin(std::span<const std::byte> message) {
  auto in = body_of(message);
  begin_message out;
  out.final = read_position(in);
  out.commit_time = unix_microseconds(in.integer<std::uint64_t>());
  out.xid = in.integer<std::uint32_t>();
  return finished(in, message_type::begin, std::move(out));
}

result<commit_message> decode_commit(std::span<const std::byte> message) {
  auto in = body_of(message);
  [[maybe_unused]] const auto flags = in.integer<std::uint8_t>();
  commit_message out;
  out.final = read_position(in);
  out.end = read_position(in);
  out.commit_time = unix_microseconds(in.integer<std::uint64_t>());
  return finished(in, message_type::commit, std::move(out));
}

result<origin_message> decode_origin(std::span<const std::byte> message) {
  auto in = body_of(message);
  origin_message out;
  out.commit = read_position(in);
  out.name = in.c_string();
  return finished(in, message_type::origin, std::move(out));
}

result<relation_message> decode_relation(std::span<const std::byte> message) {
  auto in = body_of(message);
  relation_message out;
  out.oid = in.integer<std::uint32_t>();
  out.schema = read_schema(in);
  out.name = in.c_string();
  const auto identity_at = in.offset();
  const auto identity = static_cast<char>(in.integer<std::uint8_t>());
  const auto count = in.integer<std::uint16_t>();
  if (!in.failed() && !is_identity(identity))
    return fail(errc::malformed_message,
                "pgoutput relation: unknown replica identity {:#04x} at offset {}",
                static_cast<unsigned char>(identity), identity_at);
  out.identity = static_cast<replica_identity>(identity);
  for (std::uint16_t i = 0; i < count && !in.failed(); ++i) {
    relation_message::column next;
    next.is_identity_key = (in.integer<std::uint8_t>() & column_is_identity) != 0;
    next.name = in.c_string();
    next.type_oid = in.integer<std::uint32_t>();
    next.type_modifier = static_cast<std::int32_t>(in.integer<std::uint32_t>());
    out.columns.push_back(next);
  }
  return finished(in, message_type::relation, std::move(out));
}

result<type_message> decode_type(std::span<const std::byte> message) {
  auto in = body_of(message);
  type_message out;
  out.oid = in.integer<std::uint32_t>();
  out.schema = read_schema(in);
  out.name = in.c_string();
  return finished(in, message_type::type, std::move(out));
}

result<truncate_message> decode_truncate(std::span<const std::byte> message) {
  auto in = body_of(message);
  truncate_message out;
  const auto count = in.integer<std::uint32_t>();
  const auto flags = in.integer<std::uint8_t>();
  out.cascade = (flags & truncate_cascade) != 0;
  out.restart_identity = (flags & truncate_restart_identity) != 0;
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i)
    out.relations.push_back(in.integer<std::uint32_t>());
  return finished(in, message_type::truncate, std::move(out));
}

result<logical_message> decode_message(std::span<const std::byte> message) {
  auto in = body_of(message);
  logical_message out;
  out.is_transactional = (in.integer<std::uint8_t>() & message_is_transactional) != 0;
  out.at = read_position(in);
  out.prefix = in.c_string();
  out.content = in.text(in.integer<std::uint32_t>());
  return finished(in, message_type::message, std::move(out));
}

} // namespace cdc::sources::postgres
