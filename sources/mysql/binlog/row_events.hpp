#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "messages/block.hpp"
#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/mysql/binlog/event.hpp"
#include "sources/mysql/values/value_codec.hpp"

/// WRITE_ROWS, UPDATE_ROWS and DELETE_ROWS of both versions and PARTIAL_UPDATE_ROWS, decoded
/// straight into blocks (rows_event.h). MariaDB's compressed ones go through expand() first.
namespace cdc::sources::mysql {

/// What rows of one table are decoded with: its relation and a codec a column. Made once a shape.
class row_decoder {
public:
  /// `types` are the columns of the TABLE_MAP, complete, in its order, which is the relation's.
  /// errc::source_misconfigured naming table and column where one cannot be decoded; or when the
  /// two are not as many.
  [[nodiscard]] static result<row_decoder> make(relation_ptr shape,
                                                std::span<const column_type> types);

  [[nodiscard]] const relation_ptr& shape() const noexcept { return shape_; }

  /// Values so far that meant nothing and became their `\x…`: counted, never logged.
  [[nodiscard]] std::uint64_t undecodable() const noexcept { return undecodable_; }

private:
  friend class row_event;

  relation_ptr shape_;
  std::vector<value_codec> columns_;
  std::size_t usual_room_ = 0; ///< Of an image of small values.
  std::size_t json_columns_ = 0;
  std::uint64_t undecodable_ = 0;
  std::vector<std::string_view> json_before_; ///< Of a partial update: where each old value starts.
};

/// One row event, read row by row, so that the caller can take a full block between two.
class row_event {
public:
  /// Reads what stands before the rows. errc::malformed_message for a body cut short.
  [[nodiscard]] static result<row_event> open(const event_view& in);

  [[nodiscard]] std::uint64_t table() const noexcept { return table_; }
  /// STMT_END_F: the statement's last; table numbers mean nothing behind it.
  [[nodiscard]] bool ends_statement() const noexcept { return ends_statement_; }
  [[nodiscard]] bool done() const noexcept { return rows_.empty(); }
  [[nodiscard]] operation what() const noexcept { return what_; }

  /// Adds the next row to `out`: an insert, an update or a remove with the table's relation. Not
  /// when done().
  ///
  /// A column that an image leaves out (binlog_row_image MINIMAL, NOBLOB) is absent, but in the new
  /// row of an update it takes the old value where the old image has that. An old image that is not
  /// whole is before_image::key. A JSON value logged as changes is made whole with the old image's
  /// value, or absent where that is left out.
  ///
  /// errc::malformed_message when the row is cut short or of another number of columns;
  /// errc::identity_missing when an old image lacks a column of the relation's key. The block is
  /// then as it was before the row.
  [[nodiscard]] result<void> append_next(row_decoder& by, block_builder& out);

private:
  /// Columns of an image, a bit each, and how many are set.
  struct column_set {
    std::string_view bits{};
    std::size_t count = 0;
    bool is_whole = false;

    [[nodiscard]] bool has(std::size_t column) const noexcept {
      return (static_cast<unsigned char>(bits[column / 8]) >> column % 8 & 1U) != 0;
    }
  };

  enum class image : std::uint8_t { only, before, after };

  [[nodiscard]] bool has_key(const column_set& set, const relation& shape) const noexcept;
  [[nodiscard]] const char* read_image(row_decoder& by, cell_writer& out, const column_set& set,
                                       image which);
  [[nodiscard]] const char* read_partial_bits(const row_decoder& by);
  [[nodiscard]] const char* read_value(row_decoder& by, cell_writer& out, std::size_t column,
                                       bool is_partial);

  event_view event_{};
  operation what_ = operation::insert;
  bool ends_statement_ = false;
  bool may_be_partial_ = false;
  std::uint64_t table_ = 0;
  std::size_t columns_ = 0;
  column_set first_{};  ///< Of the only image, or an update's old one.
  column_set second_{}; ///< An update's new one.
  std::string_view rows_{};
  std::string_view partial_bits_{}; ///< Of the row at hand; empty: none is partial.
};

} // namespace cdc::sources::mysql
