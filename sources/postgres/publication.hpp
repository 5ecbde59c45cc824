#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::sources::postgres {

class connection;

struct publication_member {
  std::uint32_t entry =
      0; ///< The row's OID: another one when the table was taken out and put back.
  std::uint32_t oid = 0;
  table_id table;
  bool has_row_filter = false;

  bool operator==(const publication_member&) const = default;
};

struct published_schema {
  std::uint32_t entry = 0; ///< As a member's.
  std::string name;

  bool operator==(const published_schema&) const = default;
};

/// A publication, as the catalogue has it.
struct publication_state {
  std::uint32_t oid = 0;
  std::string name;
  bool all_tables = false;
  bool inserts = true, updates = true, deletes = true, truncates = true;
  bool via_root = true;
  std::vector<publication_member> members; ///< FOR TABLE
  std::vector<published_schema> schemas;   ///< FOR TABLES IN SCHEMA

  [[nodiscard]] bool covers(const relation& table) const noexcept;
  /// The OID of what makes the publication carry the table: its member, its schema, or the
  /// publication itself. 0: it does not.
  [[nodiscard]] std::uint32_t entry_of(const relation& table) const noexcept;
};

[[nodiscard]] result<std::optional<publication_state>> read_publication(connection& on,
                                                                        const std::string& name);

/// A table that a publication is to carry.
struct wanted_table {
  relation_ptr shape;
  bool is_partitioned = false;
  bool has_heirs = false;   ///< Plain inheritance: they are not meant.
  bool has_identity = true; ///< The replica identity of it, or of all its leaves.
};

/// What the publication is for.
enum class publishing : std::uint8_t {
  everything,  ///< insert, update, delete, truncate
  insert_only, ///< insert, truncate: tables whose rows cannot be told apart may be in it.
};

/// The statement that makes it. `server_version`: from 18 on generated columns are published.
[[nodiscard]] std::string create_publication(const std::string& name, publishing what,
                                             std::span<const wanted_table> tables,
                                             int server_version);

/// Every difference between a publication and what it is to carry, each a sentence that ends in the
/// statement which removes it. Empty: it serves. `tolerated` are tables that may be in it as well.
[[nodiscard]] std::vector<std::string> differences(const publication_state& is, publishing what,
                                                   std::span<const wanted_table> tables,
                                                   std::span<const wanted_table> tolerated);

/// `"s"."a", "s"."b"`, with ONLY where heirs are not meant.
[[nodiscard]] std::string table_list(std::span<const wanted_table> tables);

} // namespace cdc::sources::postgres
