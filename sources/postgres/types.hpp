#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::sources::postgres {

class connection;

/// A type as rows carry it: a domain is what it stands on.
struct type_facts {
  kind what = kind::other;
  kind element = kind::other; ///< Of an array.
  char delimiter = ',';       ///< Of an array: typdelim of its element.
  std::string name;           ///< pg_type.typname of the base type; an array's is `int4[]`.

  bool operator==(const type_facts&) const = default;
};

/// What is known of types, by OID and never by name: two schemas may each have a `mood`.
class type_catalogue {
public:
  /// The server's own types, which have the same OID everywhere.
  [[nodiscard]] static std::optional<type_facts> built_in(std::uint32_t oid);

  /// Built in, or learned before.
  [[nodiscard]] std::optional<type_facts> find(std::uint32_t oid) const;

  /// Asks the server for those of `oids` that are not known yet, domains resolved to their base
  /// however deep. One that the server does not know either becomes kind::other.
  [[nodiscard]] result<void> learn(connection& from, std::span<const std::uint32_t> oids);

private:
  std::unordered_map<std::uint32_t, type_facts> learned_;
};

} // namespace cdc::sources::postgres
