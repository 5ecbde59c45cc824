#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "messages/error.hpp"
#include "messages/relation.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/coordinates.hpp"
#include "sources/source.hpp"

namespace cdc::sources::mysql {

/// Keeps writers away from one table, by a connection of its own.
class table_lock {
public:
  /// Waits up to `patience` for the transactions that have touched the table; meanwhile new ones
  /// wait behind it.
  [[nodiscard]] static result<table_lock> take(connection on, const table_id& table,
                                               std::chrono::seconds patience);

private:
  explicit table_lock(connection on) : on_(std::move(on)) {}

  connection on_; ///< Its end is the lock's.
};

/// Begins a read transaction whose rows are as they are now, and says what it sees: of MariaDB the
/// binlog's position that it stands at, exactly; of MySQL the GTIDs that were committed before it
/// (it may see more).
[[nodiscard]] result<view> begin_view(connection& on, const coordinates& at);
[[nodiscard]] result<void> end_view(connection& on);

/// The same, where it is known that the transaction sees nothing else; nothing when others were
/// committing meanwhile.
[[nodiscard]] result<std::optional<view>> begin_exact_view(connection& on, const coordinates& at);

} // namespace cdc::sources::mysql
