#pragma once

#include <cstdint>
#include <string>

#include "messages/error.hpp"
#include "sinks/search/answers.hpp"

namespace cdc::sinks::search {

/// What an answer means for what was asked.
enum class verdict : std::uint8_t {
  done,      ///< Written, or a newer version is there already.
  busy,      ///< The target has too much to do: again, later, and less at a time.
  again,     ///< It cannot now: again, later.
  blocked,   ///< The index or the cluster takes no writes until a person or a freed disk says so.
  too_large, ///< The request: again, in smaller ones.
  missing,   ///< The index is gone: it is made, and its table loaded, anew.
  refused,   ///< This item will never be taken.
  halted,    ///< Nothing will be taken before a person changes something: see error_of().
};

/// Of one item of a bulk request.
[[nodiscard]] verdict judge_item(const item_answer& answer, bool is_delete) noexcept;
/// Of a whole request.
[[nodiscard]] verdict judge(const item_answer& answer) noexcept;

/// What a person is told about a verdict that ends the writing. `where` is the server's URL, or the
/// index.
[[nodiscard]] error error_of(const item_answer& answer, const std::string& where);

/// Why a target takes nothing for now: `cluster block: index t: …`.
[[nodiscard]] std::string waiting_for(const item_answer& answer, std::string_view where);

/// `mapper_parsing_exception: field [n] of type [integer]`
[[nodiscard]] std::string to_string(const item_answer& answer);

} // namespace cdc::sinks::search
