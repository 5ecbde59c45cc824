#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// What a walsender sends, made by hand: the other side of the decoders.
namespace cdc::tests {

using bytes = std::vector<std::byte>;

class message_writer {
public:
  explicit message_writer(char letter) { u8(static_cast<std::uint8_t>(letter)); }

  message_writer& u8(std::uint8_t value) { return number(value, 1); }
  message_writer& u16(std::uint16_t value) { return number(value, 2); }
  message_writer& u32(std::uint32_t value) { return number(value, 4); }
  message_writer& u64(std::uint64_t value) { return number(value, 8); }
  message_writer& raw(std::string_view text) {
    for (const auto c : text)
      out_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  message_writer& c_string(std::string_view text) { return raw(text).u8(0); }
  message_writer& append(const bytes& more) {
    out_.insert(out_.end(), more.begin(), more.end());
    return *this;
  }

  operator bytes() const { return out_; }

private:
  message_writer& number(std::uint64_t value, int size) {
    for (auto shift = 8 * (size - 1); shift >= 0; shift -= 8)
      out_.push_back(static_cast<std::byte>(value >> shift));
    return *this;
  }

  bytes out_;
};

/// One column of a tuple.
struct sent {
  sent(const char* text) : form('t'), value(text) {}
  sent(char letter, std::string text = {}) : form(letter), value(std::move(text)) {}

  char form;
  std::string value;
};
inline const sent null_value{'n'};
inline const sent unchanged{'u'};

using tuple = std::vector<sent>;

inline message_writer& put(message_writer& out, const tuple& columns) {
  out.u16(static_cast<std::uint16_t>(columns.size()));
  for (const auto& each : columns) {
    out.u8(static_cast<std::uint8_t>(each.form));
    if (each.form == 't' || each.form == 'b')
      out.u32(static_cast<std::uint32_t>(each.value.size())).raw(each.value);
  }
  return out;
}

struct described_column {
  std::string name;
  std::uint32_t type_oid = 25;
  bool is_identity_key = false;
  std::int32_t type_modifier = -1;
};

inline bytes begin(std::uint64_t final, std::uint32_t xid, std::uint64_t time = 0) {
  return message_writer{'B'}.u64(final).u64(time).u32(xid);
}
inline bytes commit(std::uint64_t final, std::uint64_t end, std::uint64_t time = 0) {
  return message_writer{'C'}.u8(0).u64(final).u64(end).u64(time);
}
inline bytes origin(std::uint64_t at, std::string_view name) {
  return message_writer{'O'}.u64(at).c_string(name);
}
inline bytes type(std::uint32_t oid, std::string_view schema, std::string_view name) {
  return message_writer{'Y'}.u32(oid).c_string(schema).c_string(name);
}
inline bytes relation(std::uint32_t oid, std::string_view schema, std::string_view name,
                      char identity, const std::vector<described_column>& columns) {
  message_writer out{'R'};
  out.u32(oid).c_string(schema).c_string(name).u8(static_cast<std::uint8_t>(identity));
  out.u16(static_cast<std::uint16_t>(columns.size()));
  for (const auto& each : columns)
    out.u8(each.is_identity_key ? 1 : 0)
        .c_string(each.name)
        .u32(each.type_oid)
        .u32(static_cast<std::uint32_t>(each.type_modifier));
  return out;
}
inline bytes insert(std::uint32_t oid, const tuple& row) {
  message_writer out{'I'};
  return put(out.u32(oid).u8('N'), row);
}
inline bytes update(std::uint32_t oid, const tuple& row) {
  message_writer out{'U'};
  return put(out.u32(oid).u8('N'), row);
}
inline bytes update(std::uint32_t oid, char part, const tuple& old, const tuple& row) {
  message_writer out{'U'};
  put(out.u32(oid).u8(static_cast<std::uint8_t>(part)), old).u8('N');
  return put(out, row);
}
inline bytes remove(std::uint32_t oid, char part, const tuple& old) {
  message_writer out{'D'};
  return put(out.u32(oid).u8(static_cast<std::uint8_t>(part)), old);
}
inline bytes truncate(const std::vector<std::uint32_t>& oids, std::uint8_t flags = 0) {
  message_writer out{'T'};
  out.u32(static_cast<std::uint32_t>(oids.size())).u8(flags);
  for (const auto oid : oids)
    out.u32(oid);
  return out;
}
inline bytes logical_message(bool is_transactional, std::uint64_t at, std::string_view prefix,
                             std::string_view content) {
  return message_writer{'M'}
      .u8(is_transactional ? 1 : 0)
      .u64(at)
      .c_string(prefix)
      .u32(static_cast<std::uint32_t>(content.size()))
      .raw(content);
}

/// In the walsender's frames.
inline bytes framed(const bytes& message) {
  return message_writer{'w'}.u64(0).u64(0).u64(0).append(message);
}
inline bytes keepalive(std::uint64_t log_end, bool wants_reply = false) {
  return message_writer{'k'}.u64(log_end).u64(0).u8(wants_reply ? 1 : 0);
}

} // namespace cdc::tests
