#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/batch.hpp"
#include "sinks/json_writer.hpp"

namespace cdc::sinks::ndjson {

/// Renders the changes to one table of one shape as lines:
///
///   {"op":"u","table":"orders","key":{"id":1},"before":null,"after":{"id":1,"total":9.50},
///    "position":123,"commit_time":"2026-11-30T17:00:00.123456Z","xid":745}
///
/// `op` is c, u, d, t (truncate) or r (a copied row, whose position, commit_time and xid are null).
/// Absent columns are left out. docs/types.md says how each kind is written.
class line_writer {
public:
  explicit line_writer(target_table_ptr table);

  /// Appends one line; `tail` is what tail_of() made of its transaction. A change that touches no
  /// row (forget) appends nothing.
  void write(const batch& work, const change& it, std::string_view tail, json_writer& out) const;

  [[nodiscard]] const target_table_ptr& table() const noexcept { return table_; }

private:
  struct column {
    std::string name;     ///< `"name":`
    std::string constant; ///< As JSON; for a constant alone.
    std::uint16_t source = 0;
    kind what = kind::text;
    bool is_constant = false;
    bool is_in_before = false; ///< A before-image has it.
  };

  void write_key(const block& from, std::uint32_t image, json_writer& out) const;
  void write_before(const block& from, std::uint32_t image, json_writer& out) const;
  void write_after(const block& from, std::uint32_t image, json_writer& out) const;

  target_table_ptr table_;
  std::string table_name_; ///< As JSON.
  std::vector<column> columns_;
};

/// Writes one value as JSON.
void write_value(kind what, std::string_view text, json_writer& out);

/// The end of a line that says which transaction it is of, line feed included.
[[nodiscard]] std::string tail_of(const transaction& of);
[[nodiscard]] std::string tail_of_copy();

} // namespace cdc::sinks::ndjson
