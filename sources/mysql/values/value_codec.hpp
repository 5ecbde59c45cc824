#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/block.hpp"
#include "messages/error.hpp"
#include "sources/mysql/values/cell_writer.hpp"
#include "sources/mysql/values/column_type.hpp"
#include "sources/mysql/values/utf8_converter.hpp"

/// From a value of either path (a row image of the log, the text of a SELECT) to its one canonical
/// text. docs/types.md, "MySQL and MariaDB", has the form of every type.
namespace cdc::sources::mysql {

/// Renders the values of one column. Made once a column and shape; belongs to one thread. No
/// allocation a value, but for room that grows to the largest JSON or compressed value seen.
class value_codec {
public:
  /// errc::source_misconfigured when the type is not complete (is_complete()), never in a row
  /// event, or its character set cannot be converted.
  [[nodiscard]] static result<value_codec> make(const column_type& type);

  /// How a stored value was read.
  enum class outcome : std::uint8_t {
    good,
    cut_short,   ///< The image ends inside the value: nothing was written.
    undecodable, ///< Its bytes mean nothing; the cell is their `\x…`, so that the row is kept.
  };

  /// Takes a value that is not NULL off the front of a row image and adds its cell.
  [[nodiscard]] outcome append_stored(std::string_view& image, cell_writer& out);

  /// Takes a JSON value off the front of `before` and its diffs off the front of `after`, both with
  /// their lengths, and adds the cell of what they make. `before` is not moved.
  [[nodiscard]] outcome append_json_diff(std::string_view before, std::string_view& after,
                                         cell_writer& out);

  /// Takes a value off the front of a row image and leaves it. False when it is cut short.
  [[nodiscard]] bool skip_stored(std::string_view& image) const noexcept;

  /// Adds a cell with the canonical text of `value`, a SELECT's text of select_expression() that is
  /// not NULL, in a session with `character_set_results = NULL` (values come in the column's
  /// character set) and `time_zone = '+00:00'`. False when it is not what the type prints; the cell
  /// is then its bytes as `\x…`.
  [[nodiscard]] bool append_selected(block_builder& out, std::string_view value);

  /// Room that a value which needs few bytes takes at most; larger ones ask for theirs.
  [[nodiscard]] std::size_t usual_room() const noexcept { return usual_room_; }

  [[nodiscard]] bool is_json() const noexcept { return form_ == form::json; }

private:
  /// What there is to do, one to a layout.
  enum class form : std::uint8_t {
    int8,
    uint8,
    int16,
    uint16,
    int24,
    uint24,
    int32,
    uint32,
    int64,
    uint64,
    float4,
    float8,
    decimal,
    year,
    bit,
    date,
    datetime,
    timestamp,
    time,
    old_datetime,
    old_timestamp,
    old_time,
    enumeration,
    set,
    copied_text,
    converted_text,
    bytes,
    fixed_bytes, ///< BINARY(n), padded with zeros to its length.
    compressed,
    uuid,
    inet4,
    inet6,
    vector,
    json,
  };

  value_codec(const column_type& type, form how, utf8_converter converter);

  [[nodiscard]] static result<form> form_of(const column_type& type);
  [[nodiscard]] std::size_t usual_room_of() const noexcept;
  [[nodiscard]] bool take(std::string_view& image, std::string_view& value) const noexcept;
  [[nodiscard]] bool write(std::string_view value, cell_writer& out);
  [[nodiscard]] bool write_text(std::string_view value, cell_writer& out) const;
  [[nodiscard]] bool write_labels(std::string_view value, cell_writer& out) const;
  [[nodiscard]] bool write_compressed(std::string_view value, cell_writer& out);
  [[nodiscard]] bool write_padded(std::string_view value, cell_writer& out);
  void write_scratch(cell_writer& out) const;
  [[nodiscard]] char* write_selected_number(std::string_view value, char* to) const noexcept;
  [[nodiscard]] bool write_selected(std::string_view value, cell_writer& out) const;

  form form_;
  std::uint8_t prefix_ = 0; ///< Bytes of the length before the value; 0: `size_` bytes, always.
  std::uint8_t precision_ = 0;
  std::uint8_t scale_ = 0; ///< Or digits of a second.
  bool is_bytes_ = false;  ///< Of compressed: no characters.
  std::uint32_t size_ = 0;
  std::size_t usual_room_ = 0;
  std::size_t labels_size_ = 0; ///< Of all labels with commas between.
  std::vector<std::string> labels_;
  utf8_converter converter_;
  std::string scratch_;
};

/// What to SELECT so that the text has all of the value: the name itself, or of a FLOAT (whose text
/// has six digits) and a DOUBLE (whose text may be padded) the number times one. `quoted` is the
/// column's name, quoted for SQL.
[[nodiscard]] std::string select_expression(const column_type& type, std::string_view quoted);

} // namespace cdc::sources::mysql
