#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "messages/target_table.hpp"

namespace cdc::engine {

/// The section that takes a table, or null. Exact names win over patterns; two exact sections for
/// one table are a configuration error found earlier.
[[nodiscard]] const config::sync_config* section_for(std::span<const config::sync_config> sections,
                                                     const table_id& table);

/// The shape with the section's `primary_key` in place of the catalogue's, if it names one, and
/// without a key under append_only. Readers, the stream and make_target() take the shape it gives.
[[nodiscard]] result<relation_ptr> with_key(const relation_ptr& shape,
                                            const config::sync_config& section);

/// Applies projection, renames, constants and `into` to one shape. Refuses by section.key, all at
/// once, what the shape cannot give: an unknown column (a section of many tables may name what only
/// some have), an excluded key, two columns of one name, a key that the replica identity does not
/// hold, no key without append_only (unless the identity is FULL).
[[nodiscard]] result<target_table_ptr> make_target(const relation_ptr& shape,
                                                   const config::sync_config& section);

/// What changed between two shapes of one table, in words a person reads: `added a, removed b,
/// c is now text`. Empty when rows of both fit one target. Attributes are told apart by attnum.
[[nodiscard]] std::string describe_drift(const relation& before, const relation& after);

} // namespace cdc::engine
