#include "actors/position_ledger.hpp"

#include <algorithm>

namespace cdc::actors {

result<void> position_ledger::move(std::uint16_t branch, stand to) {
  auto& now = stands_[branch];
  const auto is_ordered = to.durable <= to.acknowledged && to.acknowledged <= to.written;
  const auto goes_on =
      now.written <= to.written && now.acknowledged <= to.acknowledged && now.durable <= to.durable;
  if (!is_ordered || !goes_on)
    return fail(errc::invariant_broken,
                "positions of branch {} would break told <= durable <= acknowledged <= written: "
                "written {} (was {}), acknowledged {} (was {}), durable {} (was {}), told {}",
                branch, to.written.token, now.written.token, to.acknowledged.token,
                now.acknowledged.token, to.durable.token, now.durable.token, told_.token);
  now = to;
  return {};
}

std::optional<position> position_ledger::confirm() noexcept {
  auto least = stands_.front().durable;
  for (const auto& branch : stands_)
    least = std::min(least, branch.durable);
  if (least <= told_)
    return std::nullopt;
  told_ = least;
  return told_;
}

position position_ledger::acknowledged_by_all() const noexcept {
  auto least = stands_.front().acknowledged;
  for (const auto& branch : stands_)
    least = std::min(least, branch.acknowledged);
  return least;
}

} // namespace cdc::actors
