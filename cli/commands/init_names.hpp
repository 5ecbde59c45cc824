#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "messages/relation.hpp"

namespace cdc::cli {

/// Gives each table a section's key and a name at the target that no other has.
class init_names {
public:
  explicit init_names(const config::target_config& target)
      : has_documents_(config::is_document_target(target)) {}

  /// Of a document target it is the index's name, too.
  std::string key_of(const table_id& table);
  /// Empty: the table's own name will do, or the key.
  std::string into_of(const table_id& table);

private:
  bool has_documents_;
  std::set<std::string> keys_;
  std::set<std::string> targets_;
};

/// What a slot's name may be made of; the publication's name is made of it too.
[[nodiscard]] std::string slot_base(std::string_view database);

/// A number for MySQL's replicas, the same each time for one database and target.
[[nodiscard]] std::uint32_t server_id_for(std::string_view database, std::string_view target);

} // namespace cdc::cli
