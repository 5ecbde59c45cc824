#pragma once

#include <string>
#include <string_view>

/// MySQL's binary JSON (sql-common/json_binary.h) as the text that SELECT gives of it: members in
/// the stored order, `, ` and `: ` between them, a double that is whole with `.0`, dates and times
/// as strings with six digits, decimals as bare numbers, other opaque values as `base64:type15:…`.
namespace cdc::sources::mysql {

/// Appends the text of `document`; an empty one is `null`, as it is to the server. False when it is
/// no binary JSON; `out` then has a part of it.
[[nodiscard]] bool append_json(std::string_view document, std::string& out);

/// Appends the text of `document` with `diffs` applied: the cell of a PARTIAL_UPDATE_ROWS event
/// (sql-common/json_diff.h). False when either is malformed or a path leads nowhere.
[[nodiscard]] bool append_json_with_diffs(std::string_view document, std::string_view diffs,
                                          std::string& out);

} // namespace cdc::sources::mysql
