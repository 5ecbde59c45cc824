#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "messages/block.hpp"
#include "messages/error.hpp"
#include "sources/mysql/values/column_type.hpp"

/// From a value of either path (a row image of the log, the text of a SELECT) to its one canonical
/// text. docs/types.md, "MySQL and MariaDB", has the form of every type.
namespace cdc::sources::mysql {

/// Renders the text of one column's SELECT. The session of the load has `character_set_results =
/// NULL` (values come in the column's character set, unconverted) and `time_zone = '+00:00'`, and
/// selects select_expression() of the column.
///
/// Made once a column and shape; belongs to one thread, since it holds a converter and scratch room.
/// No allocation a value.
class text_codec {
public:
  explicit text_codec(const column_type& type);
  ~text_codec();
  text_codec(text_codec&&) noexcept;
  text_codec& operator=(text_codec&&) noexcept;

  /// Adds a cell with the canonical text of `value`, which is not NULL.
  /// errc::malformed_message when it is not what the type prints: it names the type, not the value.
  [[nodiscard]] result<void> append(block_builder& out, std::string_view value);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// What to SELECT so that the text has all of the value: the name itself, or for a FLOAT, whose text
/// has six digits, its double. `quoted` is the column's name, quoted for SQL.
[[nodiscard]] std::string select_expression(const column_type& type, std::string_view quoted);

} // namespace cdc::sources::mysql
