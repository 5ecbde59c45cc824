#include "sinks/sqlite/refetch_list.hpp"

namespace cdc::sinks::sqlite {

void refetch_list::restore(const std::vector<listed_key>& listed) {
  tables_.clear();
  for (const auto& it : listed)
    tables_[it.table].insert(it.key);
}

result<void> refetch_list::add(const std::string& table, const std::string& key) {
  if (!of(table).insert(key).second)
    return {};
  return stored_.add_listed(table, key);
}

result<void> refetch_list::remove(const std::string& table, const std::string& key) {
  if (of(table).erase(key) == 0)
    return {};
  return stored_.remove_listed(table, key);
}

result<void> refetch_list::clear(const std::string& table) {
  if (of(table).empty())
    return {};
  of(table).clear();
  return stored_.clear_listed(table);
}

} // namespace cdc::sinks::sqlite
