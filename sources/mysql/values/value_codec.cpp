#include "sources/mysql/values/value_codec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <zlib.h>

#include "sources/mysql/values/json_binary.hpp"
#include "sources/mysql/values/render.hpp"

namespace cdc::sources::mysql {

namespace {

using ft = field_type;

template <class T>
T load(std::string_view from) noexcept {
  T out;
  std::memcpy(&out, from.data(), sizeof out);
  return out;
}

std::uint64_t little(std::string_view from) noexcept {
  std::uint64_t out = 0;
  std::memcpy(&out, from.data(), from.size());
  return out;
}

std::uint32_t load24(std::string_view from) noexcept {
  std::uint32_t out = 0;
  std::memcpy(&out, from.data(), 3);
  return out;
}

std::uint64_t load_bits(std::string_view from) noexcept {
  std::uint64_t out = 0;
  for (const char byte : from)
    out = out << 8U | static_cast<unsigned char>(byte);
  return out;
}

std::size_t set_size(std::size_t labels) noexcept {
  const auto bytes = (labels + 7) / 8;
  return bytes > 4 ? 8 : bytes;
}

/// MariaDB's compressed column (Field_longstr::compress() of sql/field.cc): a first byte with the
/// method above and the bytes of the length in its low three bits, the length, then zlib's stream.
/// A first byte of 0: the value follows as it is.
enum compressed_header : unsigned {
  method_zlib = 8,
  is_raw_deflate = 8, ///< In the low half: without zlib's own header and checksum.
};

bool inflate_all(std::string_view from, bool is_raw, std::string& out) {
  z_stream stream{};
  if (inflateInit2(&stream, is_raw ? -MAX_WBITS : MAX_WBITS) != Z_OK)
    return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data())); // NOLINT: zlib's way
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const auto ended = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return ended == Z_STREAM_END && stream.avail_out == 0;
}

/// zlib makes at most about a thousand bytes of one.
constexpr std::size_t inflated_per_byte = 1100;

} // namespace

result<value_codec> value_codec::make(const column_type& type) {
  const auto how = form_of(type);
  if (!how)
    return tl::unexpected(how.error());
  auto converter = utf8_converter::from(type.charset);
  if (!converter)
    return tl::unexpected(converter.error());
  return value_codec{type, *how, *std::move(converter)};
}

result<value_codec::form> value_codec::form_of(const column_type& type) {
  if (!is_complete(type))
    return fail(errc::source_misconfigured, "a column of type {} is known in part only",
                type_name(type));
  switch (type.shown_as) {
    case disguise::uuid:
      return form::uuid;
    case disguise::inet4:
      return form::inet4;
    case disguise::inet6:
      return form::inet6;
    case disguise::vector:
      return form::vector;
    case disguise::none:
    case disguise::json:
      break;
  }
  const bool is_binary = type.charset == character_set::binary;
  switch (type.field) {
    case ft::tiny:
      return type.is_unsigned ? form::uint8 : form::int8;
    case ft::small:
      return type.is_unsigned ? form::uint16 : form::int16;
    case ft::medium:
      return type.is_unsigned ? form::uint24 : form::int24;
    case ft::integer:
      return type.is_unsigned ? form::uint32 : form::int32;
    case ft::big:
      return type.is_unsigned ? form::uint64 : form::int64;
    case ft::float4:
      return form::float4;
    case ft::float8:
      return form::float8;
    case ft::decimal:
      if (type.precision == 0 || type.precision > 65 || type.scale > 30 ||
          type.scale > type.precision)
        return fail(errc::source_misconfigured, "a DECIMAL({},{}) cannot be", type.precision,
                    type.scale);
      return form::decimal;
    case ft::year:
      return form::year;
    case ft::bit:
      if (type.length == 0 || type.length > 64)
        return fail(errc::source_misconfigured, "a BIT({}) cannot be", type.length);
      return form::bit;
    case ft::date:
    case ft::new_date:
      return form::date;
    case ft::datetime:
      return form::datetime;
    case ft::timestamp:
      return form::timestamp;
    case ft::time:
      return form::time;
    case ft::old_datetime:
      return form::old_datetime;
    case ft::old_timestamp:
      return form::old_timestamp;
    case ft::old_time:
      return form::old_time;
    case ft::enumeration:
      return form::enumeration;
    case ft::set:
      if (type.labels.size() > 64)
        return fail(errc::source_misconfigured, "a SET of {} labels cannot be", type.labels.size());
      return form::set;
    case ft::string:
      if (is_binary)
        return form::fixed_bytes;
      [[fallthrough]];
    case ft::varchar:
    case ft::var_string:
    case ft::blob:
    case ft::tiny_blob:
    case ft::medium_blob:
    case ft::long_blob:
      if (is_binary)
        return form::bytes;
      return utf8_converter::from(type.charset).value_or(utf8_converter{}).copies()
                 ? form::copied_text
                 : form::converted_text;
    case ft::geometry:
      return form::bytes;
    case ft::blob_compressed:
    case ft::varchar_compressed:
      return form::compressed;
    case ft::vector:
      return form::vector;
    case ft::json:
      return form::json;
    case ft::old_decimal:
    case ft::null:
    case ft::typed_array:
      break;
  }
  return fail(errc::source_misconfigured, "rows with columns of type {} ({}) cannot be read",
              static_cast<unsigned>(type.field), type_name(type));
}

value_codec::value_codec(const column_type& type, form how, utf8_converter converter)
    : form_(how), precision_(type.precision), scale_(type.scale), labels_(type.labels),
      converter_(std::move(converter)) {
  is_bytes_ = type.charset == character_set::binary;
  for (const auto& it : labels_)
    labels_size_ += it.size() + 1;
  switch (how) {
    case form::int8:
    case form::uint8:
    case form::year:
      size_ = 1;
      break;
    case form::int16:
    case form::uint16:
      size_ = 2;
      break;
    case form::int24:
    case form::uint24:
    case form::date:
      size_ = 3;
      break;
    case form::int32:
    case form::uint32:
    case form::float4:
      size_ = 4;
      break;
    case form::int64:
    case form::uint64:
    case form::float8:
      size_ = 8;
      break;
    case form::decimal:
      size_ = static_cast<std::uint32_t>(decimal_size(precision_, scale_));
      break;
    case form::bit:
      size_ = (type.length + 7) / 8;
      break;
    case form::datetime:
    case form::timestamp:
    case form::time:
    case form::old_datetime:
    case form::old_timestamp:
    case form::old_time: {
      scale_ = std::min<std::uint8_t>(type.fraction, 6);
      const auto size = how == form::datetime        ? 5 + fraction_size(scale_)
                        : how == form::timestamp     ? 4 + fraction_size(scale_)
                        : how == form::time          ? 3 + fraction_size(scale_)
                        : how == form::old_datetime  ? old_datetime_size(scale_)
                        : how == form::old_timestamp ? old_timestamp_size(scale_)
                                                     : old_time_size(scale_);
      size_ = static_cast<std::uint32_t>(size);
      break;
    }
    case form::enumeration:
      size_ = type.length != 0 ? std::min<std::uint32_t>(type.length, 2)
                               : (labels_.size() < 256 ? 1U : 2U);
      break;
    case form::set:
      size_ = type.length != 0 ? std::min<std::uint32_t>(type.length, 8)
                               : static_cast<std::uint32_t>(set_size(labels_.size()));
      break;
    case form::fixed_bytes:
    case form::uuid:
    case form::inet4:
    case form::inet6:
      size_ = type.length;
      [[fallthrough]];
    case form::copied_text:
    case form::converted_text:
    case form::bytes:
    case form::compressed:
    case form::vector:
    case form::json:
      prefix_ = std::clamp<std::uint8_t>(type.prefix, 1, 4);
      break;
  }
  usual_room_ = usual_room_of();
}

std::size_t value_codec::usual_room_of() const noexcept {
  switch (form_) {
    case form::decimal:
      return decimal_room;
    case form::float4:
    case form::float8:
      return floating_room;
    case form::set:
      return std::min<std::size_t>(labels_size_, 128);
    case form::copied_text:
    case form::converted_text:
    case form::bytes:
    case form::enumeration:
      return 64;
    default:
      return time_room;
  }
}

bool value_codec::take(std::string_view& image, std::string_view& value) const noexcept {
  std::size_t size = size_;
  if (prefix_ != 0) {
    if (image.size() < prefix_)
      return false;
    size = static_cast<std::size_t>(little(image.substr(0, prefix_)));
    if (size > image.size() - prefix_)
      return false;
    image.remove_prefix(prefix_);
  } else if (size > image.size()) {
    return false;
  }
  value = image.substr(0, size);
  image.remove_prefix(size);
  return true;
}

bool value_codec::skip_stored(std::string_view& image) const noexcept {
  std::string_view value;
  return take(image, value);
}

value_codec::outcome value_codec::append_stored(std::string_view& image, cell_writer& out) {
  std::string_view value;
  if (!take(image, value)) [[unlikely]]
    return outcome::cut_short;
  if (write(value, out)) [[likely]]
    return outcome::good;
  out.cell(write_hex(value, out.room(2 + 2 * value.size())));
  return outcome::undecodable;
}

value_codec::outcome value_codec::append_json_diff(std::string_view before, std::string_view& after,
                                                   cell_writer& out) {
  std::string_view document;
  std::string_view diffs;
  if (!take(before, document) || !take(after, diffs))
    return outcome::cut_short;
  scratch_.clear();
  const bool good = append_json_with_diffs(document, diffs, scratch_);
  if (good)
    write_scratch(out);
  else
    out.cell(write_hex(diffs, out.room(2 + 2 * diffs.size())));
  return good ? outcome::good : outcome::undecodable;
}

bool value_codec::write(std::string_view value, cell_writer& out) {
  const auto put = [&](std::size_t room, auto writer) {
    out.cell(writer(out.room(room)));
    return true;
  };
  const auto put_integer = [&](auto number) {
    return put(integer_room, [&](char* to) { return write_integer(number, to); });
  };
  switch (form_) {
    case form::int8:
      return put_integer(static_cast<int>(load<std::int8_t>(value)));
    case form::uint8:
      return put_integer(static_cast<unsigned>(load<std::uint8_t>(value)));
    case form::int16:
      return put_integer(static_cast<int>(load<std::int16_t>(value)));
    case form::uint16:
      return put_integer(static_cast<unsigned>(load<std::uint16_t>(value)));
    case form::int24: {
      const auto it = load24(value);
      return put_integer(static_cast<std::int32_t>(it << 8U) >> 8);
    }
    case form::uint24:
      return put_integer(load24(value));
    case form::int32:
      return put_integer(load<std::int32_t>(value));
    case form::uint32:
      return put_integer(load<std::uint32_t>(value));
    case form::int64:
      return put_integer(load<std::int64_t>(value));
    case form::uint64:
      return put_integer(load<std::uint64_t>(value));
    case form::float4:
      return put(floating_room, [&](char* to) { return write_floating(load<float>(value), to); });
    case form::float8:
      return put(floating_room, [&](char* to) { return write_floating(load<double>(value), to); });
    case form::decimal: {
      auto* const end = write_decimal(value, precision_, scale_, out.room(decimal_room));
      if (end)
        out.cell(end);
      return end != nullptr;
    }
    case form::year: {
      const unsigned it = load<std::uint8_t>(value);
      return put_integer(it == 0 ? 0 : 1900 + it);
    }
    case form::bit:
      return put_integer(load_bits(value));
    case form::date:
      return put(time_room, [&](char* to) { return write_date(read_date(load24(value)), to); });
    case form::datetime:
      return put(time_room, [&](char* to) {
        return write_datetime(read_datetime(value, scale_), scale_, to);
      });
    case form::timestamp:
      return put(time_room, [&](char* to) {
        to = write_datetime(read_timestamp(value, scale_), scale_, to);
        return std::copy_n("+00", 3, to);
      });
    case form::time:
      return put(time_room,
                 [&](char* to) { return write_time(read_time(value, scale_), scale_, to); });
    case form::old_datetime:
      return put(time_room, [&](char* to) {
        return write_datetime(read_old_datetime(value, scale_), scale_, to);
      });
    case form::old_timestamp:
      return put(time_room, [&](char* to) {
        to = write_datetime(read_old_timestamp(value, scale_), scale_, to);
        return std::copy_n("+00", 3, to);
      });
    case form::old_time:
      return put(time_room,
                 [&](char* to) { return write_time(read_old_time(value, scale_), scale_, to); });
    case form::enumeration:
    case form::set:
      return write_labels(value, out);
    case form::copied_text:
    case form::converted_text:
      return write_text(value, out);
    case form::bytes:
      return put(2 + 2 * value.size(), [&](char* to) { return write_hex(value, to); });
    case form::fixed_bytes:
    case form::uuid:
    case form::inet4:
    case form::inet6:
      return write_padded(value, out);
    case form::compressed:
      return write_compressed(value, out);
    case form::vector:
      if (value.size() % 4 != 0)
        return false;
      return put(2 + value.size() / 4 * 18, [&](char* to) { return write_vector(value, to); });
    case form::json:
      scratch_.clear();
      if (!append_json(value, scratch_))
        return false;
      write_scratch(out);
      return true;
  }
  return false;
}

bool value_codec::write_text(std::string_view value, cell_writer& out) const {
  out.cell(converter_.convert(value, out.room(converter_.bound(value.size()))));
  return true;
}

bool value_codec::write_labels(std::string_view value, cell_writer& out) const {
  auto bits = little(value);
  if (form_ == form::enumeration) {
    if (bits > labels_.size())
      return false;
    const auto label = bits == 0 ? std::string_view{} : std::string_view{labels_[bits - 1]};
    out.cell(std::copy(label.begin(), label.end(), out.room(label.size())));
    return true;
  }
  if (labels_.size() < 64 && bits >> labels_.size() != 0)
    return false;
  auto* const begin = out.room(labels_size_);
  auto* to = begin;
  for (; bits != 0; bits &= bits - 1) {
    const auto& label = labels_[static_cast<std::size_t>(__builtin_ctzll(bits))];
    if (to != begin)
      *to++ = ',';
    to = std::copy(label.begin(), label.end(), to);
  }
  out.cell(to);
  return true;
}

bool value_codec::write_compressed(std::string_view value, cell_writer& out) {
  std::string_view plain;
  if (!value.empty()) {
    const unsigned header = static_cast<unsigned char>(value.front());
    value.remove_prefix(1);
    if (header == 0) {
      plain = value;
    } else {
      const auto length_bytes = header & 7U;
      if (header >> 4U != method_zlib || length_bytes > 4 || length_bytes > value.size())
        return false;
      // Big-endian (mi_uint*korr).
      const auto size = static_cast<std::size_t>(load_bits(value.substr(0, length_bytes)));
      value.remove_prefix(length_bytes);
      if (size / inflated_per_byte > value.size())
        return false;
      scratch_.resize(size);
      if (!inflate_all(value, (header & is_raw_deflate) != 0, scratch_))
        return false;
      plain = scratch_;
    }
  }
  if (!is_bytes_)
    return write_text(plain, out);
  out.cell(write_hex(plain, out.room(2 + 2 * plain.size())));
  return true;
}

/// The log leaves out what a value of fixed size ends in: zeros.
bool value_codec::write_padded(std::string_view value, cell_writer& out) {
  if (value.size() > size_)
    return false;
  if (form_ == form::fixed_bytes) {
    auto* const to = write_hex(value, out.room(2 + 2 * std::size_t{size_}));
    out.cell(std::fill_n(to, 2 * (size_ - value.size()), '0'));
    return true;
  }
  std::array<char, 16> bytes{};
  if (size_ > bytes.size())
    return false;
  std::copy(value.begin(), value.end(), bytes.begin());
  const std::string_view whole{bytes.data(), size_};
  auto* const to = out.room(time_room + 8);
  if (form_ == form::uuid && size_ == 16)
    out.cell(write_uuid(whole, to));
  else if (form_ == form::inet4 && size_ == 4)
    out.cell(write_inet4(whole, to));
  else if (form_ == form::inet6 && size_ == 16)
    out.cell(write_inet6(whole, to));
  else
    return false;
  return true;
}

void value_codec::write_scratch(cell_writer& out) const {
  out.cell(std::copy(scratch_.begin(), scratch_.end(), out.room(scratch_.size())));
}

bool value_codec::append_selected(block_builder& out, std::string_view value) {
  cell_writer to{out, value.size() + usual_room_};
  const bool good = write_selected(value, to);
  if (!good)
    to.cell(write_hex(value, to.room(2 + 2 * value.size())));
  to.finish();
  return good;
}

/// Numbers without the zeros that ZEROFILL and a declared scale of a float add. nullptr: it is
/// none.
char* value_codec::write_selected_number(std::string_view value, char* to) const noexcept {
  if (form_ == form::float4 || form_ == form::float8) {
    double number = 0;
    const auto* const end = value.data() + value.size();
    if (const auto got = std::from_chars(value.data(), end, number);
        got.ec != std::errc{} || got.ptr != end)
      return nullptr;
    return form_ == form::float4 ? write_floating(static_cast<float>(number), to)
                                 : write_floating(number, to);
  }
  const auto is_digit = [](char it) { return it >= '0' && it <= '9'; };
  const bool is_negative = value.starts_with('-');
  if (is_negative)
    value.remove_prefix(1);
  const auto point = std::min(value.find('.'), value.size());
  if (point == 0 || value.size() > 80 ||
      !std::all_of(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(point), is_digit) ||
      (point < value.size() && (form_ != form::decimal ||
                                !std::all_of(value.begin() + static_cast<std::ptrdiff_t>(point) + 1,
                                             value.end(), is_digit))))
    return nullptr;
  if (is_negative && value.find_first_not_of("0.") != std::string_view::npos)
    *to++ = '-';
  const auto first = std::min(value.find_first_not_of('0'), point == 0 ? 0 : point - 1);
  return std::copy(value.begin() + static_cast<std::ptrdiff_t>(first), value.end(), to);
}

bool value_codec::write_selected(std::string_view value, cell_writer& out) const {
  switch (form_) {
    case form::int8:
    case form::uint8:
    case form::int16:
    case form::uint16:
    case form::int24:
    case form::uint24:
    case form::int32:
    case form::uint32:
    case form::int64:
    case form::uint64:
    case form::year:
    case form::decimal:
    case form::float4:
    case form::float8: {
      auto* const end = write_selected_number(value, out.room(value.size() + decimal_room));
      if (end)
        out.cell(end);
      return end != nullptr;
    }
    case form::bit:
      if (value.size() > 8)
        return false;
      out.cell(write_integer(load_bits(value), out.room(integer_room)));
      return true;
    case form::timestamp:
    case form::old_timestamp: {
      auto* const to = std::copy(value.begin(), value.end(), out.room(value.size() + 3));
      out.cell(std::copy_n("+00", 3, to));
      return true;
    }
    case form::bytes:
    case form::fixed_bytes:
      out.cell(write_hex(value, out.room(2 + 2 * value.size())));
      return true;
    case form::compressed:
      if (!is_bytes_)
        return write_text(value, out);
      out.cell(write_hex(value, out.room(2 + 2 * value.size())));
      return true;
    case form::vector:
      if (value.size() % 4 != 0)
        return false;
      out.cell(write_vector(value, out.room(2 + value.size() / 4 * 18)));
      return true;
    case form::enumeration:
    case form::set:
    case form::copied_text:
    case form::converted_text:
      return write_text(value, out);
    case form::date:
    case form::datetime:
    case form::time:
    case form::old_datetime:
    case form::old_time:
    case form::uuid:
    case form::inet4:
    case form::inet6:
    case form::json:
      out.cell(std::copy(value.begin(), value.end(), out.room(value.size())));
      return true;
  }
  return false;
}

std::string select_expression(const column_type& type, std::string_view quoted) {
  if (type.field == ft::float4 || type.field == ft::float8)
    return fmt::format("{}*1e0", quoted);
  return std::string(quoted);
}

} // namespace cdc::sources::mysql
