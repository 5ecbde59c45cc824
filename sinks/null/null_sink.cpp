#include "sinks/null/null_sink.hpp"

#include <utility>

#include "sinks/memory_state.hpp"

namespace cdc::sinks::null {

null_sink::null_sink(std::string name) : name_("null " + std::move(name)) {}

result<sink_state> null_sink::open(const stream_identity& stream) {
  auto state = memory_state::open(name_, stream);
  if (state)
    epoch_ = state->epoch;
  return state;
}

result<void> null_sink::prepare(const std::vector<target_table_ptr>&) {
  return {};
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is the interface's.
void null_sink::submit(batch_ptr work, completion done) {
  done(take(*work));
}

result<write_report> null_sink::take(const batch& work) {
  if (is_cancelled_)
    return fail(errc::cancelled, "the target was told to stop");
  std::array<std::uint64_t, 8> seen{};
  write_report report;
  report.batch = work.number;
  for (const auto& it : work.changes) {
    ++seen[static_cast<std::size_t>(it.what)];
    if (it.what == action::partial || it.what == action::move)
      report.answers.push_back({it.number, true});
  }
  if (auto written = memory_state::write(name_, epoch_, work); !written)
    return tl::unexpected(std::move(written).error());
  for (std::size_t i = 0; i < seen.size(); ++i)
    counts_[i].fetch_add(seen[i], std::memory_order_relaxed);
  if (work.is_durable)
    if (const auto resume = memory_state::resume(name_))
      report.durable = resume->resume;
  return report;
}

std::uint64_t null_sink::count(action what) const noexcept {
  return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
}

} // namespace cdc::sinks::null
