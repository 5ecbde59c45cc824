#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "messages/target_table.hpp"

namespace cdc::sinks::sqlite {

/// How the text of a cell becomes a value of SQLite; docs/types.md has the policy in words.
enum class binding : std::uint8_t {
  text,     ///< The bytes as they are.
  boolean,  ///< `t` and `f` as 1 and 0.
  integer,  ///< A signed 64-bit integer; a number beyond it as text.
  floating, ///< A double; NaN and the infinities as text.
  number,   ///< A decimal as integer where exact, else as double; NaN and the infinities as text.
  blob,     ///< `\x` and hex digits as bytes.
};

/// A decimal of the key stays text, since two decimals may be one double.
[[nodiscard]] binding binding_of(const target_column& column, bool numeric_as_number) noexcept;

/// Room for the decoded bytes of one row. A value bound from it lives until the next clear().
class blob_space {
public:
  /// `hex_bytes`: the sizes of the row's blob cells together.
  void clear(std::size_t hex_bytes) {
    used_ = 0;
    if (bytes_.size() < hex_bytes)
      bytes_.resize(hex_bytes);
  }
  [[nodiscard]] char* take(std::size_t size) noexcept {
    char* out = bytes_.data() + used_;
    used_ += size;
    return out;
  }

private:
  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

/// Binds `text`, which must live until the statement has run. Gives SQLite's code.
int bind_value(sqlite3_stmt* to, int at, binding how, std::string_view text,
               blob_space& space) noexcept;

/// Decodes `\x…` into `out`, which has room for half of it. False: not such a text.
[[nodiscard]] bool decode_hex(std::string_view text, char* out) noexcept;

} // namespace cdc::sinks::sqlite
