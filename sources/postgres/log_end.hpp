#pragma once

#include <memory>
#include <optional>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/postgres/connection.hpp"

namespace cdc::sources::postgres {

/// Where a server's log ends, asked over one connection that is kept and opened again when it
/// broke. Belongs to one thread.
class log_end {
public:
  log_end(config::source_config source, std::shared_ptr<const stop_signal> stop = nullptr)
      : source_(std::move(source)), stop_(std::move(stop)) {}

  [[nodiscard]] result<position> ask();
  /// Writes a logical message, which commits and moves the log on.
  [[nodiscard]] result<void> move_on();

private:
  [[nodiscard]] result<rows> run(const std::string& sql, std::string_view doing);

  config::source_config source_;
  std::shared_ptr<const stop_signal> stop_;
  std::optional<connection> on_;
};

} // namespace cdc::sources::postgres
