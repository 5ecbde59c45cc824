#pragma once

#include <array>
#include <cstdint>

#include "tests/simulation/dice.hpp"
#include "tests/simulation/rows.hpp"

namespace cdc::simulation {

enum class table_kind : std::uint8_t {
  keyed,   ///< Ranges by key.
  paged,   ///< Ranges by page: a row's range changes with every write.
  keyless, ///< A bag of rows, read under the rule of keyless tables.
  ignored, ///< In the stream, taken by no section.
};

/// Everything that can happen in a world. One step of a history is one of these, if it can happen.
enum class happening : std::uint8_t {
  begin,       ///< A transaction starts at the source and takes its row locks.
  log,         ///< … is in the log, and perhaps visible at once.
  show,        ///< … becomes visible.
  abort,       ///< … ends without a trace.
  noise,       ///< The log moves for other reasons.
  reshape,     ///< A table gets a new shape that reads the same.
  start,       ///< The first start.
  stream,      ///< The next block of the log arrives.
  advance,     ///< The idle log says how far it is.
  open,        ///< A wave opens.
  snapshot,    ///< A reader takes its snapshot.
  hand,        ///< … and hands it over.
  read,        ///< Some rows of a range.
  lose,        ///< A reader dies.
  refetch,     ///< A listed row is read.
  answer,      ///< … and handed over.
  look,        ///< A snapshot for its own sake is taken.
  prove,       ///< … and handed over.
  apply,       ///< The target takes a batch.
  report,      ///< … and its answer arrives.
  hear,        ///< The load coordinator hears something that the engine said.
  late,        ///< Something of a dead process arrives at the target.
  durable,     ///< The checkpoint interval is over.
  confirm,     ///< The source is told what is durable.
  crash,       ///< The process dies.
  power,       ///< The target forgets what was not durable, and the process dies.
  hand_delete, ///< A person deletes a row at the target.
};
inline constexpr std::size_t happenings = static_cast<std::size_t>(happening::hand_delete) + 1;

inline constexpr std::size_t transactions_max = 64;

/// The fixed part of a history: what world it takes place in. All zero is the simplest world.
struct options {
  std::array<table_kind, tables_max> kinds{};
  std::uint8_t tables = 1;
  std::uint8_t keys = 2;                             ///< Of each table, up to keys_max.
  std::uint8_t ranges = 1;                           ///< Of each table with a key.
  std::uint8_t wave = 1;                             ///< Ranges read at once.
  std::array<std::uint8_t, tables_max> first_rows{}; ///< Bit k: row k is there at the start.
  bool any_column_absent = false;                    ///< Else only b and c may be.
  bool full_identity = false;                        ///< Old images carry all columns.
  bool modest = false;     ///< Snapshots claim less than they see (not for keyless).
  bool wraps = false;      ///< Transaction numbers pass 2^32 on the way.
  bool plans_late = false; ///< A table is planned only when its wave opens.
  bool hears_late = false; ///< What the engine says reaches the coordinator only in its time.
  /// One more than the table that is configured only from the second life on; 0: none.
  std::uint8_t late_table = 0;
  bool omits_start_view = false; ///< A later start does not say what its reads must have seen.
  bool starts_early =
      false;                ///< The stream is resumed at what was confirmed, not at the checkpoint.
  bool is_document = false; ///< The target compares versions and knows no transactions.
  bool is_relaxed = false;  ///< The target's commits survive a power cut only when asked to.
  std::uint16_t batch_changes = 1000;
  std::uint32_t map_bytes = 1 << 20;
  std::uint8_t blocks = 16; ///< Window of the stream, and of the load.
  std::uint16_t steps = 60;
  std::uint8_t transactions = 14; ///< At most, up to transactions_max.
};

/// How often what happens: its own mixture for every history, so that rare things meet.
using weights = std::array<std::uint8_t, happenings>;

struct setting {
  options world;
  weights often;
};

/// What a test wants to see more of, or not at all.
struct tilt {
  bool keyed = true;
  bool paged = true;
  bool keyless = true;
  bool document = false; ///< A document target; no tables without a key then.
  bool crashes = true;
  bool truncates = true;
  bool overflow = true;
  bool by_hand = true;          ///< Rows are deleted at the target by a person.
  bool is_hidden_often = false; ///< Commits stay logged but invisible for long.
  bool moves_often = false;
  bool truncates_often = false;
  bool omits_start_view = false;
  bool lags_often = false; ///< The stream comes late, in large blocks.
  bool overflows_often = false;
  std::uint16_t steps_max = 88;
};

/// Draws a world and a mixture.
[[nodiscard]] setting draw(dice& from, const tilt& wanted);

} // namespace cdc::simulation
