#include "supervision/succession.hpp"

namespace cdc::supervision {

void succession::begin(const std::vector<relation_ptr>& tables) {
  const std::lock_guard hold{guard_};
  ++life_;
  current_.clear();
  for (const auto& table : tables)
    current_[table->table] = table->oid;
}

result<bool> succession::takes(const relation& shape, bool is_past) {
  const std::lock_guard hold{guard_};
  const auto known = current_.find(shape.table);
  if (known == current_.end() || known->second == shape.oid)
    return true;
  // A stranger of an earlier life was in the log before this life's catalogue was read: had it the
  // name by then, it would be the one that is known. Later it may have taken the name once more.
  const auto [met, is_new] = strangers_.try_emplace(shape.oid, life_);
  if (!is_past && !is_new && met->second < life_)
    return false;
  met->second = life_;
  return fail(errc::source_unavailable,
              "{} in the log is another table than the one that is followed (dropped and created "
              "again, or renamed); the pipeline starts again with what the catalogue says",
              to_string(shape.table));
}

std::optional<table_id> succession::former_name(const relation& shape) {
  const std::lock_guard hold{guard_};
  for (const auto& [name, oid] : current_)
    if (oid == shape.oid && name != shape.table)
      return name;
  return std::nullopt;
}

} // namespace cdc::supervision
