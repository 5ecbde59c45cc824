#include "cli/progress.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "actors/figures.hpp"

namespace cdc::cli {

namespace {

using actors::pipeline_flow;
using actors::pipeline_view;

struct load_sum {
  std::uint64_t rows = 0;
  std::uint64_t estimate = 0;
  std::size_t tables = 0;
  std::size_t loaded = 0;
  double seconds_left = 0;
  std::string table; ///< One that is being read.
};

load_sum sum_of(const pipeline_view& seen, const pipeline_flow& flow) {
  load_sum out;
  for (std::size_t i = 0; i < seen.tables.size(); ++i) {
    const auto& table = seen.tables[i];
    ++out.tables;
    out.loaded += table.state == actors::table_state::loaded ? 1 : 0;
    out.rows += table.rows;
    out.estimate += std::max(table.rows, table.rows_estimate);
    if (table.state == actors::table_state::loading && out.table.empty())
      out.table = table.name;
  }
  if (flow.copied_rows_per_second > 0)
    out.seconds_left = static_cast<double>(out.estimate - out.rows) / flow.copied_rows_per_second;
  return out;
}

double part_done(const load_sum& load) {
  if (load.estimate == 0)
    return 0;
  // Estimates are what they are: only the end is the end.
  return std::min(0.99, static_cast<double>(load.rows) / static_cast<double>(load.estimate));
}

std::string load_text(const pipeline_view& seen, const pipeline_flow& flow) {
  const auto load = sum_of(seen, flow);
  auto out = fmt::format(
      "{:.0f}%  {}  {} of {} rows  {} rows/s", std::floor(part_done(load) * 100),
      load.table.empty() ? fmt::format("{} of {} tables", load.loaded, load.tables) : load.table,
      actors::spell_count(load.rows), actors::spell_count(load.estimate),
      actors::spell_rate(flow.copied_rows_per_second));
  if (!seen.load_paused.empty())
    return out + "  paused: " + seen.load_paused;
  if (load.seconds_left > 0)
    out += fmt::format("  {} left", actors::spell_duration(load.seconds_left));
  return out;
}

std::string catch_up_text(const pipeline_view& seen, const pipeline_flow& flow) {
  auto out = fmt::format("catch-up  {} rows/s  {} to read",
                         actors::spell_rate(flow.streamed_rows_per_second),
                         actors::spell_bytes(seen.bytes_left));
  if (flow.seconds_left)
    out += fmt::format("  {} left", actors::spell_duration(*flow.seconds_left));
  return out + fmt::format("  {} rows", actors::spell_count(seen.events_row));
}

std::string stream_text(const pipeline_view& seen, const pipeline_flow& flow) {
  if (seen.is_catching_up && seen.state == actors::pipeline_state::streaming)
    return catch_up_text(seen, flow);
  return fmt::format("{}  {} rows/s  {} behind  {} rows", to_string(seen.state),
                     actors::spell_rate(flow.streamed_rows_per_second),
                     actors::spell_bytes(seen.lag_bytes), actors::spell_count(seen.events_row));
}

std::string bar(double part) {
  constexpr std::size_t width = 20;
  const auto full = static_cast<std::size_t>(part * width);
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

bool loads(const pipeline_view& seen) {
  return seen.state == actors::pipeline_state::loading;
}

std::string one_line(const pipeline_view& seen, const pipeline_flow& flow) {
  if (!loads(seen))
    return seen.name + "  " + stream_text(seen, flow);
  return seen.name + "  load " + bar(part_done(sum_of(seen, flow))) + " " + load_text(seen, flow);
}

/// Several pipelines share the line: how many are in which state, and their rates together.
std::string many_in_line(const actors::board_view& seen, const actors::flow_view& flow) {
  std::size_t loading = 0;
  std::size_t streaming = 0;
  std::uint64_t lag = 0;
  for (const auto& pipeline : seen.pipelines) {
    loading += loads(pipeline) ? 1 : 0;
    streaming += pipeline.state == actors::pipeline_state::streaming ? 1 : 0;
    lag += pipeline.lag_bytes;
  }
  double rows = 0;
  for (const auto& pipeline : flow.pipelines)
    rows += pipeline.streamed_rows_per_second + pipeline.copied_rows_per_second;
  return fmt::format("{} pipelines: {} loading, {} streaming, {} other  {} rows/s  {} behind",
                     seen.pipelines.size(), loading, streaming,
                     seen.pipelines.size() - loading - streaming, actors::spell_rate(rows),
                     actors::spell_bytes(lag));
}

} // namespace

std::string progress_line(const actors::board_view& seen, const actors::flow_view& flow,
                          std::size_t columns) {
  std::string out;
  if (seen.pipelines.size() == 1 && !flow.pipelines.empty())
    out = one_line(seen.pipelines.front(), flow.pipelines.front());
  else if (!seen.pipelines.empty())
    out = many_in_line(seen, flow);
  return actors::cut_to(actors::one_line(out), columns);
}

std::string progress_text(const pipeline_view& seen, const pipeline_flow& flow) {
  return loads(seen) ? "loading  " + load_text(seen, flow) : stream_text(seen, flow);
}

} // namespace cdc::cli
