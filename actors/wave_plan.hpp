#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "messages/load.hpp"

namespace cdc::actors {

/// How much one wave may hold. A process that is killed reads one wave again.
struct wave_limits {
  std::uint64_t rows = 500'000; ///< By estimate; one range may pass it.
  std::size_t ranges = 64;
};

/// Which ranges of which tables are read next: those of several tables together, tables without a
/// key alone and last. Pure; one wave is out at a time.
///
/// Invariant: a range is unread, in the open wave, or done.
class wave_plan {
public:
  explicit wave_plan(wave_limits limits = {}) : limits_(limits) {}

  /// The next table, with what earlier lives have done of it. None: it has to be planned.
  void add(std::optional<table_progress> progress);
  void planned(std::uint16_t table, load_plan plan);

  /// A table that has to be planned before a full wave can be made; it counts as asked for.
  [[nodiscard]] std::optional<std::uint16_t> next_to_plan();
  void plan_again(std::uint16_t table); ///< The answer was lost.

  /// The next wave; empty while plans are outstanding that would make it larger, when nothing is
  /// left, or when one is open.
  [[nodiscard]] std::vector<range_ref> next_wave();
  void wave_done();
  void wave_void(); ///< Its ranges are unread again.

  [[nodiscard]] bool is_open() const noexcept { return !open_.empty(); }
  [[nodiscard]] bool finished() const noexcept;
  [[nodiscard]] const load_plan& plan(std::uint16_t table) const { return tables_[table].plan; }
  [[nodiscard]] bool is_keyless(std::uint16_t table) const noexcept {
    return tables_[table].plan.scheme == range_scheme::keyless;
  }
  [[nodiscard]] std::uint32_t ranges_done(std::uint16_t table) const noexcept;

private:
  enum class planning : std::uint8_t { wanted, asked, known };
  struct table_ranges {
    planning state = planning::wanted;
    load_plan plan;
    std::vector<bool> taken; ///< In the open wave, or done.
    std::vector<bool> done;
    std::size_t first_unread = 0; ///< Nothing below it is.
  };

  [[nodiscard]] std::optional<std::uint32_t> take_unread(table_ranges& from);

  wave_limits limits_;
  std::vector<table_ranges> tables_;
  std::vector<range_ref> open_;
};

} // namespace cdc::actors
