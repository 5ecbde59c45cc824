// What readers see of the source, and the words for it.
#include <algorithm>

#include "tests/simulation/source.hpp"

namespace cdc::simulation {

namespace {

using phase = source_transaction::phase;
using what = row_change::what;

} // namespace

// -- readers ------------------------------------------------------------------------------------

source_view source::view(std::uint64_t modesty) const {
  source_view out{visible_, {}, end_, truncations_};
  out.seen.xmax = last_ended_ + 1;
  out.seen.xmin = out.seen.xmax;
  for (std::size_t i = 0; i < transactions_.size(); ++i) {
    const auto& each = transactions_[i];
    const auto runs = each.now == phase::running || each.now == phase::logged;
    if (each.xid >= out.seen.xmax || !(runs || (modesty >> i & 1)))
      continue;
    out.seen.xmin = std::min(out.seen.xmin, each.xid);
    out.seen.in_progress.push_back(each.xid);
  }
  return out;
}

snapshot source::look() {
  last_ended_ = next_xid_++;
  return view().seen;
}

bool source::is_shut(std::size_t table) const {
  return std::ranges::any_of(transactions_, [&](const auto& each) {
    return each.truncates[table] && (each.now == phase::running || each.now == phase::logged);
  });
}

const contents& source::rows_at(position end) const {
  const auto behind = std::ranges::upper_bound(log_, end, {}, &entry::end);
  return after_[static_cast<std::size_t>(behind - log_.begin())];
}

bool source::is_quiet() const {
  return std::ranges::none_of(transactions_, [](const auto& each) {
    return each.now == phase::running || each.now == phase::logged;
  });
}

std::vector<transaction_id> source::hidden() const {
  std::vector<transaction_id> out;
  for (const auto& each : transactions_) {
    if (each.now == phase::logged)
      out.push_back(static_cast<std::uint32_t>(each.xid));
  }
  return out;
}

// -- words --------------------------------------------------------------------------------------

std::string source::name(std::size_t transaction) {
  return fmt::format("T{}", transaction + 1);
}

std::string source::describe(const row_change& change) const {
  const auto table = table_name(change.table);
  if (change.kind == what::truncate)
    return fmt::format("{}: truncate", table);
  if (world_.kinds[change.table] == table_kind::keyless) {
    const auto old = fmt::format("(v{} w{})", change.key, change.tail);
    const auto made =
        fmt::format("(v{} w{})", change.to, change.present & 1 ? std::to_string(change.tail) : "-");
    if (change.kind == what::update)
      return fmt::format("{}: update {} to {}", table, old, made);
    return fmt::format("{}: {} {}", table, change.kind == what::insert ? "insert" : "delete", old);
  }
  const auto key = fmt::format("k{}", key_text(change.key));
  const auto made = simulation::describe(change.value, change.present);
  switch (change.kind) {
    case what::insert:
      return fmt::format("{}: insert {} {}", table, key, made);
    case what::update:
      return fmt::format("{}: update {} {}", table, key, made);
    case what::move:
      return fmt::format("{}: move {} to k{} {}", table, key, key_text(change.to), made);
    case what::remove:
    case what::truncate:
      return fmt::format("{}: delete {}", table, key);
  }
  return {};
}

std::string source::describe(const snapshot& seen) const {
  std::string out;
  for (const auto& each : log_) {
    const auto sure = seen.is_sure_of(static_cast<std::uint32_t>(of(each).xid));
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", name(each.transaction),
                       sure ? "" : "(unseen)");
  }
  return out.empty() ? "nothing logged" : out;
}

} // namespace cdc::simulation
