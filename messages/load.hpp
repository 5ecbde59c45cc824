#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/position.hpp"
#include "messages/relation.hpp"
#include "messages/snapshot.hpp"

namespace cdc {

/// How a table's rows are divided for the initial load.
enum class range_scheme : std::uint8_t {
  key,     ///< By key, in an order that the engine can tell too: a key falls in exactly one range.
  opaque,  ///< By key in an order only the database knows, or by page (CTID): every key may be in
           ///< any range of the table, and the load rule treats it so.
  keyless, ///< One range, read under load-rule §1b.
};

/// One slice of one table. Bounds are values of the key columns in their text form, in key order:
/// from <= key < to; an empty bound is open. For pages (`by_page`): first page and the page behind.
struct load_range {
  std::vector<std::string> from{};
  std::vector<std::string> to{};

  bool operator==(const load_range&) const = default;
};

struct load_plan {
  range_scheme scheme = range_scheme::key;
  bool by_page = false;
  std::vector<load_range> ranges{};
  std::uint64_t rows_estimate = 0;

  bool operator==(const load_plan&) const = default;
};

/// Names a range for one life of a pipeline: table (index into the engine's tables) and range
/// number.
struct range_ref {
  std::uint16_t table = 0;
  std::uint32_t range = 0;

  auto operator<=>(const range_ref&) const = default;
};

/// How far a table's load has come; stored as a record beside the checkpoint with the rows.
struct table_progress {
  load_plan plan{};
  std::vector<bool> done{};          ///< One per range.
  std::uint32_t table_oid = 0;       ///< relation::oid of what is loaded; 0: not known.
  std::uint32_t published_by = 0;    ///< What put it into the stream then; 0: not known.
  bool is_left = false;              ///< The stream has gone on without the table since.
  std::optional<snapshot> keyless{}; ///< §1b: what its only snapshot saw …
  position keyless_until{};          ///< … and the L it is kept for.

  [[nodiscard]] bool finished() const noexcept;
  bool operator==(const table_progress&) const = default;
};

/// The record's text form (JSON-free, line based, versioned) and back.
[[nodiscard]] std::string to_text(const table_progress& progress);
[[nodiscard]] result<table_progress> parse_progress(std::string_view text);

} // namespace cdc
