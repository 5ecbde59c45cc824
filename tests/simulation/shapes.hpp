#pragma once

#include <array>
#include <optional>
#include <string>

#include "messages/load.hpp"
#include "messages/relation.hpp"
#include "messages/target_table.hpp"
#include "tests/simulation/options.hpp"

namespace cdc::simulation {

/// Source and target shapes of the simulated tables. A target table is named as its source, in
/// capitals: A, B, C.
[[nodiscard]] relation_ptr make_relation(const options& world, std::size_t table,
                                         std::uint32_t generation);
[[nodiscard]] target_table_ptr make_target(const relation_ptr& source);

/// Ranges of a table: keys in equal parts, or pages, or the one of a keyless table.
[[nodiscard]] load_plan make_plan(const options& world, std::size_t table);

/// The range of a key, or of a page under a paged plan.
[[nodiscard]] std::size_t range_of_key(const options& world, std::size_t key);

[[nodiscard]] std::string table_name(std::size_t table);
[[nodiscard]] bool has_key(table_kind kind);

/// The key's number from its text or its encoded form; none: not a key of this world.
[[nodiscard]] std::optional<std::size_t> key_of_text(std::string_view text);
[[nodiscard]] std::optional<std::size_t> key_of_form(std::string_view encoded);
[[nodiscard]] const std::string& key_form(std::size_t key);

} // namespace cdc::simulation
