#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/block.hpp"
#include "messages/target_table.hpp"
#include "sinks/search/value_writer.hpp"

namespace cdc::sinks::search {

/// The longest `_id` that the servers take, in bytes.
inline constexpr std::size_t id_bytes_max = 512;

/// An image of a row: its first cell in one block.
struct row_image {
  const block* from = nullptr;
  std::uint32_t first = 0;
};

/// Writes the documents of one target table of one shape, straight from cells. Belongs to one
/// thread.
class document_writer {
public:
  explicit document_writer(target_table_ptr table);

  [[nodiscard]] const target_table_ptr& table() const noexcept { return table_; }

  /// Appends the row's `_id`: the value of a single key, `column=value,…` by the columns' names for
  /// a composite one, the SHA-256 of the whole row without one. What would not fit, be empty, or
  /// could be another row's as well is replaced by the SHA-256 of it.
  void append_id(row_image row, std::string& out);

  /// Writes the document of a row whose cells are all there.
  void write(row_image row, json_writer& out);

  /// The same, of which the later images supply what they hold: the last one wins.
  void write(row_image row, std::span<const row_image> over, json_writer& out);

  /// Writes a stored document with what the images supply in place of its fields of those names;
  /// its other fields stay as they are, byte for byte. False, and nothing written, when `stored` is
  /// no JSON object.
  [[nodiscard]] bool write(std::string_view stored, std::span<const row_image> over,
                           json_writer& out);

private:
  struct field {
    std::string name;     ///< As it is.
    std::string prefix;   ///< `,"name":`
    std::string constant; ///< As JSON; for a constant alone.
    value_shape how;
    std::uint16_t source = 0;
    bool is_constant = false;
  };

  void write_value(const field& it, const block& from, cell value, json_writer& out);
  /// The last of the images that supplies a field; null: none does.
  [[nodiscard]] static const row_image* supplier(const field& it, std::span<const row_image> over);
  [[nodiscard]] static cell cell_of(const field& it, row_image row) {
    return row.from->cells[row.first + it.source];
  }
  void append_key_id(row_image row, std::string& out) const;
  void append_row_id(row_image row, std::string& out);
  [[nodiscard]] bool is_ambiguous(row_image row) const;

  target_table_ptr table_;
  std::vector<field> fields_;
  std::vector<std::uint16_t> key_;     ///< Fields, by name.
  std::vector<std::uint16_t> by_name_; ///< All fields.
  std::vector<std::string> key_marks_; ///< `,name=` of each key column, for composite keys.
  value_writer values_;
  json_writer scratch_;
};

/// 64 hex digits.
[[nodiscard]] std::string sha256(std::string_view bytes);

} // namespace cdc::sinks::search
