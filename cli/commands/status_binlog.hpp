#pragma once

#include <string>

#include "cli/commands/status.hpp"
#include "messages/json.hpp"

/// The parts of status_log.hpp for MySQL and MariaDB.
namespace cdc::cli::binlog {

[[nodiscard]] std::string source_text(const pipeline_status& status);
[[nodiscard]] std::string log_text(const pipeline_status& status);
void write_source(json::writer& to, const pipeline_status& status);
void write_log(json::writer& to, const pipeline_status& status);
[[nodiscard]] std::string too_much_retained(const pipeline_status& status, std::uint64_t max_mb);

} // namespace cdc::cli::binlog
