#pragma once

#include <optional>
#include <string>

#include "cli/commands/status.hpp"
#include "messages/json.hpp"

/// What a status says of the source's log, for each kind of source.
namespace cdc::cli {

/// Asks the server; what it says, or why it does not.
void look_at_log(const config::source_config& source, pipeline_status& into);
/// How far the targets are behind it.
void look_behind(const config::source_config& source, pipeline_status& into);

[[nodiscard]] bool has_answered(const pipeline_status& status) noexcept;
/// Of a server that has answered.
[[nodiscard]] const stream_identity& identity_of(const pipeline_status& status) noexcept;
[[nodiscard]] position log_end(const pipeline_status& status) noexcept;

/// Whether positions can be spelled: MySQL's server alone knows what its files are called.
[[nodiscard]] bool can_spell(const pipeline_status& status) noexcept;
[[nodiscard]] std::string spell(const pipeline_status& status, position at);

/// What the server knows to be durable at targets that keep no checkpoint; nothing: it keeps none.
[[nodiscard]] std::optional<position> confirmed_at_source(const pipeline_status& status);

/// The line of the source, and what follows the targets.
[[nodiscard]] std::string source_text(const pipeline_status& status);
[[nodiscard]] std::string log_text(const pipeline_status& status);

/// The members of `source`, and those that follow `targets`, whether the server has answered or
/// not.
void write_source(json::writer& to, const pipeline_status& status);
void write_log(json::writer& to, const pipeline_status& status);

/// A line for each log that is larger than `max_mb`; empty: none is.
[[nodiscard]] std::string too_much_retained(const pipeline_status& status, std::uint64_t max_mb);

// -- words ----------------------------------------------------------------------------------------

/// As PostgreSQL prints sizes.
[[nodiscard]] std::string spell_size(std::uint64_t count);
/// `reserved`, as PostgreSQL's wal_status.
[[nodiscard]] std::string_view to_string(sources::log_pressure::state status) noexcept;
/// null where there is none, and where it cannot be spelled.
void write_position(json::writer& to, const pipeline_status& status, std::string_view name,
                    const std::optional<position>& at);

} // namespace cdc::cli
