#include "sinks/null/null_sink.hpp"

namespace cdc::sinks::null {

result<sink_state> null_sink::open(const stream_identity& stream) {
  return state_.open(stream);
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
  if (auto written = state_.write(work); !written)
    return tl::unexpected(std::move(written).error());
  for (std::size_t i = 0; i < seen.size(); ++i)
    counts_[i].fetch_add(seen[i], std::memory_order_relaxed);
  if (work.is_durable && work.ends_transaction && state_.resume())
    report.durable = state_.resume()->resume;
  return report;
}

std::uint64_t null_sink::count(action what) const noexcept {
  return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
}

} // namespace cdc::sinks::null
