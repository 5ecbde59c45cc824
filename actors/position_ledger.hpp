#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "messages/error.hpp"
#include "messages/position.hpp"

namespace cdc::actors {

/// What each branch has written, acknowledged and made durable, and what of it the source was told.
///
/// Invariant: told <= durable <= acknowledged <= written, for every branch, and none ever goes
/// back.
class position_ledger {
public:
  struct stand {
    position written;
    position acknowledged;
    position durable;

    bool operator==(const stand&) const = default;
  };

  explicit position_ledger(std::size_t branches) : stands_(branches) {}

  /// errc::invariant_broken, with everything known, when the invariant would not hold.
  [[nodiscard]] result<void> move(std::uint16_t branch, stand to);

  /// It has acknowledged something that a power cut could still take back.
  [[nodiscard]] bool wants_durability(std::uint16_t branch) const noexcept {
    return stands_[branch].acknowledged > stands_[branch].durable;
  }

  /// The least durable position of all branches, when the source was not told of it yet; it counts
  /// as told from now on.
  [[nodiscard]] std::optional<position> confirm() noexcept;

  [[nodiscard]] position told() const noexcept { return told_; }
  [[nodiscard]] position acknowledged_by_all() const noexcept;

private:
  std::vector<stand> stands_;
  position told_;
};

} // namespace cdc::actors
