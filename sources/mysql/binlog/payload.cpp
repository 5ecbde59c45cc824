#include "sources/mysql/binlog/payload.hpp"

#include <algorithm>
#include <cstring>

#include <zlib.h>
#include <zstd.h>

#include "sources/mysql/binlog/reader.hpp"

namespace cdc::sources::mysql {

namespace {

/// codecs/binary.h: fields of a payload's header.
enum payload_field : std::uint64_t {
  header_end = 0,
  payload_size = 1,
  compression_type = 2,
  uncompressed_size = 3,
};
/// compression/base.h
enum compression : std::uint64_t { zstd = 0, none = 255 };

/// A larger event cannot be: max_allowed_packet ends at 1 GiB.
constexpr std::size_t event_max = std::size_t{1} << 30U;
constexpr std::size_t size_offset = 9;

} // namespace

struct payload_reader::stream {
  event_view event{};
  std::span<const std::byte> input{};
  std::size_t taken = 0;       ///< Of the input.
  std::uint64_t announced = 0; ///< Bytes of the events in it.
  std::uint64_t made = 0;
  bool is_plain = false;
  ZSTD_DStream* decoder = nullptr;
  std::vector<std::byte> room{};
  std::size_t filled = 0;

  stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { ZSTD_freeDStream(decoder); }

  /// Makes sure of `size` bytes in the room, if there are as many. Says why not.
  [[nodiscard]] const char* fill(std::size_t size) {
    if (room.size() < size)
      room.resize(std::max(size, std::min(room.size() * 2, event_max)));
    while (filled < size) {
      if (is_plain) {
        const auto piece = std::min(size - filled, input.size() - taken);
        if (piece == 0)
          return "payload cut short";
        std::memcpy(room.data() + filled, input.data() + taken, piece);
        taken += piece;
        filled += piece;
        continue;
      }
      ZSTD_outBuffer to{room.data(), size, filled};
      ZSTD_inBuffer from{input.data(), input.size(), taken};
      const auto left = ZSTD_decompressStream(decoder, &to, &from);
      if (ZSTD_isError(left) != 0)
        return "damaged payload";
      if (to.pos == filled && from.pos == taken)
        return "payload cut short";
      filled = to.pos;
      taken = from.pos;
    }
    return nullptr;
  }
};

payload_reader::payload_reader(std::unique_ptr<stream> of) noexcept : stream_(std::move(of)) {}
payload_reader::~payload_reader() = default;
payload_reader::payload_reader(payload_reader&&) noexcept = default;
payload_reader& payload_reader::operator=(payload_reader&&) noexcept = default;

result<payload_reader> payload_reader::open(const event_view& in) {
  log_reader from{in.body};
  auto out = std::make_unique<stream>();
  std::uint64_t kind = zstd;
  std::uint64_t size = 0;
  for (auto field = from.packed(); field != header_end && !from.failed(); field = from.packed()) {
    const auto width = static_cast<std::size_t>(from.packed());
    const auto begin = from.offset();
    if (field == payload_size)
      size = from.packed();
    else if (field == compression_type)
      kind = from.packed();
    else if (field == uncompressed_size)
      out->announced = from.packed();
    const auto read = from.offset() - begin;
    from.skip(width > read ? width - read : 0);
  }
  if (from.failed())
    return tl::unexpected(malformed(in, "cut short", from.offset()));
  if (size != from.remaining())
    return tl::unexpected(malformed(in, "a payload of another size than it says", from.offset()));
  if (kind != zstd && kind != none)
    return tl::unexpected(malformed(in, "an unknown compression", from.offset()));
  out->event = in;
  out->input = from.rest();
  out->is_plain = kind == none;
  if (out->is_plain && out->announced == 0)
    out->announced = size;
  if (!out->is_plain) {
    out->decoder = ZSTD_createDStream();
    ZSTD_initDStream(out->decoder);
  }
  return payload_reader{std::move(out)};
}

result<std::optional<event_view>> payload_reader::next() {
  auto& in = *stream_;
  if (in.made >= in.announced)
    return std::nullopt;
  const auto refuse = [&](std::string_view what) {
    return tl::unexpected(
        malformed(in.event, what, in.event.body.size() - in.input.size() + in.taken));
  };
  in.filled = 0;
  if (const auto* const wrong = in.fill(event_header_size))
    return refuse(wrong);
  std::uint32_t size = 0;
  std::memcpy(&size, in.room.data() + size_offset, sizeof size);
  if (size < event_header_size || size > event_max || size > in.announced - in.made)
    return refuse("an event in it has an impossible size");
  if (const auto* const wrong = in.fill(size))
    return refuse(wrong);
  in.made += size;
  auto out = read_event({in.room.data(), size}, checksum::off);
  if (!out)
    return tl::unexpected(out.error());
  return *out;
}

bool event_expander::is_compressed(event_type type) noexcept {
  return type >= event_type::query_compressed && type <= event_type::delete_rows_compressed;
}

namespace {

/// binlog_buf_compress() of sql/log_event.cc: 0x80, the method in bits 4 to 6 and the bytes of the
/// length in the low three, the length, big-endian, then zlib's stream.
bool expand_into(std::span<const std::byte> from, std::vector<std::byte>& to) {
  constexpr std::size_t inflated_per_byte = 1100;
  if (from.empty())
    return false;
  const auto header = static_cast<unsigned>(from.front());
  const auto length_bytes = header & 7U;
  const auto method = header >> 4U & 7U;
  if ((header & 0x80U) == 0 || method != 0 || length_bytes == 0 || length_bytes > 4 ||
      length_bytes >= from.size())
    return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    size = size << 8U | static_cast<std::size_t>(from[1 + i]);
  from = from.subspan(1 + length_bytes);
  if (size / inflated_per_byte > from.size())
    return false;
  const auto before = to.size();
  to.resize(before + size);
  auto made = static_cast<uLongf>(size);
  return uncompress(reinterpret_cast<Bytef*>(to.data() + before), &made,
                    reinterpret_cast<const Bytef*>(from.data()),
                    static_cast<uLong>(from.size())) == Z_OK &&
         made == size;
}

event_type plain_type(event_type type) noexcept {
  switch (type) {
    case event_type::query_compressed:
      return event_type::query;
    case event_type::write_rows_compressed_v1:
      return event_type::write_rows_v1;
    case event_type::update_rows_compressed_v1:
      return event_type::update_rows_v1;
    case event_type::delete_rows_compressed_v1:
      return event_type::delete_rows_v1;
    case event_type::write_rows_compressed:
      return event_type::write_rows;
    case event_type::update_rows_compressed:
      return event_type::update_rows;
    case event_type::delete_rows_compressed:
      return event_type::delete_rows;
    default:
      return type;
  }
}

/// Bytes of the body that are never compressed.
std::size_t plain_size(const event_view& in, bool& is_good) {
  log_reader from{in.body};
  if (in.header.type == event_type::query_compressed) {
    from.skip(8);
    const auto schema = from.integer<std::uint8_t>();
    from.skip(2);
    from.skip(static_cast<std::size_t>(from.little(2)));
    from.skip(std::size_t{schema} + 1);
  } else {
    from.skip(8);
    if (in.header.type >= event_type::write_rows_compressed) {
      const auto extra = from.little(2);
      from.skip(extra > 2 ? static_cast<std::size_t>(extra - 2) : 0);
    }
    const auto columns = static_cast<std::size_t>(from.packed());
    const bool has_two = in.header.type == event_type::update_rows_compressed_v1 ||
                         in.header.type == event_type::update_rows_compressed;
    const auto bytes = columns / 8 + (columns % 8 != 0 ? 1 : 0);
    from.skip(bytes);
    from.skip(has_two ? bytes : 0);
  }
  is_good = !from.failed();
  return from.offset();
}

} // namespace

result<event_view> event_expander::expand(const event_view& in) {
  bool is_good = true;
  const auto head = plain_size(in, is_good);
  if (!is_good)
    return tl::unexpected(malformed(in, "cut short", head));
  const auto plain_head = in.body.first(head);
  plain_.assign(plain_head.begin(), plain_head.end());
  if (!expand_into(in.body.subspan(head), plain_))
    return tl::unexpected(malformed(in, "cannot be decompressed", head));
  event_view out{.header = in.header, .body = plain_};
  out.header.type = plain_type(in.header.type);
  return out;
}

} // namespace cdc::sources::mysql
