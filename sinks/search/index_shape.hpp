#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/target_table.hpp"

namespace cdc::sinks::search {

/// The type that a column's values are indexed as when nobody says otherwise, as JSON.
[[nodiscard]] std::string field_mapping(kind what);

/// The body that creates an index for a table: its mapping_file's, or a derived one.
/// errc::target_misconfigured when the file cannot be read or holds no JSON object.
[[nodiscard]] result<std::string> creation_body(const target_table& table);

/// What an index that is there makes of its fields.
struct live_mapping {
  bool is_ours = false;   ///< Made by us, with a derived mapping.
  bool is_strict = false; ///< Refuses a document with a field that it does not know.
  std::map<std::string, std::string, std::less<>> types{}; ///< Of the fields at the top.
};

/// Reads the answer to `GET /index/_mapping`; of an alias of several indices, all of them.
[[nodiscard]] result<live_mapping> read_mapping(std::string_view body);

/// The columns that an index does not know. errc::target_misconfigured, naming each field and both
/// types, when it cannot hold the rows.
[[nodiscard]] result<std::vector<std::uint16_t>> compare(const target_table& table,
                                                         const live_mapping& live);

/// `{"properties":{…}}` of some columns.
[[nodiscard]] std::string mapping_of(const target_table& table,
                                     const std::vector<std::uint16_t>& columns);

/// errc::target_misconfigured when an index name is not one that the servers take.
[[nodiscard]] result<void> check_index_name(std::string_view name);

} // namespace cdc::sinks::search
