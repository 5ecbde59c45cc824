#pragma once

#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "sinks/search/state_document.hpp"

namespace cdc::sinks::search {

/// An index is loaded much faster without refreshes and replicas. What was set before is kept with
/// the checkpoint, so that it is put back whatever happens to this process.

/// `{"index":{"refresh_interval":"-1","number_of_replicas":"0"}}`
[[nodiscard]] std::string_view relaxing_body() noexcept;
/// What puts the settings back; null where nothing was set.
[[nodiscard]] std::string restoring_body(const index_settings& were);

/// Reads the answer to `GET /index/_settings?flat_settings=true`; of an alias, the first index. A
/// refresh that is off already counts as not set: an interrupted load left it so.
[[nodiscard]] result<index_settings> read_settings(std::string_view body);

/// The table of a record that says its load is finished; empty: it says something else.
[[nodiscard]] std::string_view finished_table(const record& what);

/// Whether the records say that a table's load is finished.
[[nodiscard]] bool is_loaded(const kept_state& state, std::string_view table);

} // namespace cdc::sinks::search
