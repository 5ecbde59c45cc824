#include "sources/mysql/binlog/row_events.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "sources/mysql/binlog/reader.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr std::uint16_t flag_statement_end = 1;
/// PARTIAL_JSON_UPDATES of enum_row_image_type's value options.
constexpr std::uint64_t option_partial_json = 1;

bool has_extra_data(event_type type) noexcept {
  switch (type) {
    case event_type::write_rows:
    case event_type::update_rows:
    case event_type::delete_rows:
    case event_type::partial_update_rows:
    case event_type::write_rows_compressed:
    case event_type::update_rows_compressed:
    case event_type::delete_rows_compressed:
      return true;
    default:
      return false;
  }
}

std::optional<operation> operation_of(event_type type) noexcept {
  switch (type) {
    case event_type::write_rows_v1:
    case event_type::write_rows:
    case event_type::write_rows_compressed_v1:
    case event_type::write_rows_compressed:
      return operation::insert;
    case event_type::update_rows_v1:
    case event_type::update_rows:
    case event_type::partial_update_rows:
    case event_type::update_rows_compressed_v1:
    case event_type::update_rows_compressed:
      return operation::update;
    case event_type::delete_rows_v1:
    case event_type::delete_rows:
    case event_type::delete_rows_compressed_v1:
    case event_type::delete_rows_compressed:
      return operation::remove;
    default:
      return std::nullopt;
  }
}

std::size_t count_bits(std::string_view bits, std::size_t columns) noexcept {
  std::size_t out = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    auto byte = static_cast<unsigned char>(bits[i]);
    if (i + 1 == bits.size() && columns % 8 != 0)
      byte &= static_cast<unsigned char>((1U << columns % 8) - 1);
    out += static_cast<std::size_t>(std::popcount(byte));
  }
  return out;
}

} // namespace

result<row_decoder> row_decoder::make(relation_ptr shape, std::span<const column_type> types) {
  row_decoder out;
  if (types.size() != shape->columns.size())
    return fail(errc::source_misconfigured, "{}: the log has {} columns, its relation {}",
                to_string(shape->table), types.size(), shape->columns.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto codec = value_codec::make(types[i]);
    if (!codec)
      return fail(codec.error().code, "{}, column {}: {}", to_string(shape->table),
                  shape->columns[i].name, codec.error().detail);
    out.usual_room_ += codec->usual_room();
    out.json_columns_ += codec->is_json() ? 1 : 0;
    out.columns_.push_back(*std::move(codec));
  }
  out.json_before_.resize(types.size());
  out.shape_ = std::move(shape);
  return out;
}

result<row_event> row_event::open(const event_view& in) {
  log_reader from{in.body};
  row_event out;
  const auto what = operation_of(in.header.type);
  if (!what)
    return tl::unexpected(malformed(in, "no row event", 0));
  out.event_ = in;
  out.what_ = *what;
  out.may_be_partial_ = in.header.type == event_type::partial_update_rows;
  out.table_ = from.little(6);
  out.ends_statement_ = (from.little(2) & flag_statement_end) != 0;
  if (has_extra_data(in.header.type)) {
    const auto size = from.little(2); // its own two bytes included
    from.skip(size > 2 ? static_cast<std::size_t>(size - 2) : 0);
  }
  out.columns_ = static_cast<std::size_t>(from.packed());
  const auto read_set = [&] {
    column_set set{.bits = from.text(out.columns_ / 8 + (out.columns_ % 8 != 0 ? 1 : 0))};
    set.count = count_bits(set.bits, out.columns_);
    set.is_whole = set.count == out.columns_;
    return set;
  };
  out.first_ = read_set();
  if (out.what_ == operation::update)
    out.second_ = read_set();
  if (from.failed())
    return tl::unexpected(malformed(in, "cut short", from.offset()));
  out.rows_ = from.text(from.remaining());
  return out;
}

bool row_event::has_key(const column_set& set, const relation& shape) const noexcept {
  return std::ranges::all_of(shape.key, [&](std::uint16_t at) { return set.has(at); });
}

result<void> row_event::append_next(row_decoder& by, block_builder& out) {
  const auto& shape = *by.shape_;
  const auto offset = [&] {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(rows_.data()) -
                                    event_.body.data());
  };
  if (columns_ != shape.columns.size())
    return tl::unexpected(malformed(event_,
                                    fmt::format("{} columns where {} has {}", columns_,
                                                to_string(shape.table), shape.columns.size()),
                                    offset()));
  const bool has_before = what_ != operation::insert;
  if (has_before && !first_.is_whole && !has_key(first_, shape))
    return fail(
        errc::identity_missing,
        "{}: binlog_row_image leaves columns of its key out of old rows; set it to FULL, or "
        "make the key the table's primary key",
        to_string(shape.table));
  auto before = before_image::none;
  if (has_before)
    before = first_.is_whole ? before_image::full : before_image::key;
  out.row(what_, by.shape_, before);
  cell_writer cells{out, by.usual_room_ * (what_ == operation::update ? 2 : 1)};
  const char* wrong = nullptr;
  if (what_ == operation::update) {
    wrong = read_image(by, cells, first_, image::before);
    if (!wrong)
      wrong = read_partial_bits(by);
    if (!wrong)
      wrong = read_image(by, cells, second_, image::after);
  } else {
    wrong = read_image(by, cells, first_, image::only);
  }
  cells.finish();
  if (!wrong) [[likely]]
    return {};
  out.roll_back();
  return tl::unexpected(
      malformed(event_, fmt::format("{} in a row of {}", wrong, to_string(shape.table)), offset()));
}

const char* row_event::read_partial_bits(const row_decoder& by) {
  partial_bits_ = {};
  if (!may_be_partial_)
    return nullptr;
  log_reader in{std::as_bytes(std::span{rows_})};
  const auto options = in.packed();
  if ((options & option_partial_json) != 0)
    partial_bits_ = in.text((by.json_columns_ + 7) / 8);
  if (in.failed())
    return "cut short";
  rows_.remove_prefix(in.offset());
  return nullptr;
}

const char* row_event::read_image(row_decoder& by, cell_writer& out, const column_set& set,
                                  image which) {
  const auto null_bytes = (set.count + 7) / 8;
  if (rows_.size() < null_bytes)
    return "cut short";
  const auto nulls = rows_.substr(0, null_bytes);
  rows_.remove_prefix(null_bytes);
  std::size_t logged = 0; // of the columns in the image
  std::size_t json = 0;   // of the table's JSON columns
  for (std::size_t column = 0; column < columns_; ++column) {
    auto& codec = by.columns_[column];
    bool is_partial = false;
    if (may_be_partial_ && codec.is_json()) {
      is_partial = which == image::after && json / 8 < partial_bits_.size() &&
                   (static_cast<unsigned char>(partial_bits_[json / 8]) >> json % 8 & 1U) != 0;
      ++json;
      if (which == image::before)
        by.json_before_[column] = {};
    }
    if (!set.is_whole && !set.has(column)) {
      if (which == image::after && first_.has(column))
        out.block().repeat(columns_);
      else if (which == image::before || what_ == operation::remove)
        out.block().null();
      else
        out.block().absent();
      continue;
    }
    const bool is_null = (static_cast<unsigned char>(nulls[logged / 8]) >> logged % 8 & 1U) != 0;
    ++logged;
    if (is_null) {
      out.block().null();
      continue;
    }
    if (may_be_partial_ && which == image::before && codec.is_json())
      by.json_before_[column] = rows_;
    if (const auto* const wrong = read_value(by, out, column, is_partial)) [[unlikely]]
      return wrong;
  }
  return nullptr;
}

const char* row_event::read_value(row_decoder& by, cell_writer& out, std::size_t column,
                                  bool is_partial) {
  auto& codec = by.columns_[column];
  auto got = value_codec::outcome::good;
  if (!is_partial) [[likely]] {
    got = codec.append_stored(rows_, out);
  } else if (by.json_before_[column].empty()) {
    if (!codec.skip_stored(rows_))
      return "cut short";
    out.block().absent();
  } else {
    got = codec.append_json_diff(by.json_before_[column], rows_, out);
  }
  if (got == value_codec::outcome::good) [[likely]]
    return nullptr;
  if (got == value_codec::outcome::cut_short)
    return "cut short";
  ++by.undecodable_;
  return nullptr;
}

} // namespace cdc::sources::mysql
