#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "messages/checkpoint.hpp"
#include "sinks/sqlite/state_tables.hpp"

namespace cdc::sinks::sqlite {

/// The listed keys, in memory as in `_cdc_refetch`: almost always empty, and then a row costs one
/// comparison. What a rolled-back transaction changed here is never used: the sink has failed then.
class refetch_list {
public:
  using keys = std::unordered_set<std::string>;

  explicit refetch_list(state_tables& stored) noexcept : stored_(stored) {}

  void restore(const std::vector<listed_key>& listed);

  /// The keys of one table; the reference stays valid.
  [[nodiscard]] keys& of(const std::string& table) { return tables_[table]; }

  [[nodiscard]] result<void> add(const std::string& table, const std::string& key);
  [[nodiscard]] result<void> remove(const std::string& table, const std::string& key);
  [[nodiscard]] result<void> clear(const std::string& table);

private:
  state_tables& stored_;
  std::map<std::string, keys> tables_;
};

} // namespace cdc::sinks::sqlite
