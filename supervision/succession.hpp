#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::supervision {

/// Tells a table from others that had its name before, or take it later: one that is dropped and
/// created again is another table, and so is one that is renamed to take the place of the first.
///
/// Lives as long as a pipeline; any thread asks.
class succession {
public:
  /// A new life knows these tables, as the catalogue had them when it began.
  void begin(const std::vector<relation_ptr>& tables);

  /// False: the rows are of a table that had the name before, and not ours. One that is met for the
  /// first time, or when the stream `is_past` the log's end of the life's beginning, is
  /// errc::source_unavailable: the next life asks the catalogue which of them has the name.
  [[nodiscard]] result<bool> takes(const relation& shape, bool is_past);

  /// The name under which a table is followed that has another one now; none: it is not ours, or
  /// has the name still.
  [[nodiscard]] std::optional<table_id> former_name(const relation& shape);

private:
  std::mutex guard_;
  std::uint64_t life_ = 0;
  std::map<table_id, std::uint32_t> current_;        ///< By name, the OID of this life.
  std::map<std::uint32_t, std::uint64_t> strangers_; ///< By OID, the life that met it last.
};

} // namespace cdc::supervision
