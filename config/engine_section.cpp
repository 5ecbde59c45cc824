#include <array>
#include <tuple>

#include "config/sections.hpp"

namespace cdc::config {

namespace {

constexpr std::uint64_t day_ms = 86'400'000;

template <class T>
void read_optional(section& in, std::string_view key, std::optional<T>& field, between range) {
  if (const auto value = in.number(key, range))
    field = T{static_cast<std::uint32_t>(*value)};
}

} // namespace

engine_config read_engine(section in, target_traits targets) {
  static constexpr std::array<std::string_view, 2> reactions{"halt", "quarantine"};
  engine_config out;
  in.read("batch_size", out.batch_size, {.min = 1, .max = 1'000'000});
  in.read("batch_max_bytes", out.batch_max_bytes, {.min = 1, .max = std::uint64_t{1} << 30});
  in.read("write_concurrency", out.write_concurrency, {.min = 1, .max = 64});
  if (out.write_concurrency > 1 && !targets.has_documents)
    in.report("write_concurrency",
              "more than 1 does nothing here: sqlite, ndjson and null take one write at a time");
  read_optional(in, "load_max_rows_per_sec", out.load_max_rows_per_sec, {.min = 1});
  in.read("retry_max", out.retry_max, {.min = 0, .max = 1'000'000});
  in.read_duration("retry_backoff_ms", out.retry_backoff, {.min = 1, .max = day_ms});
  read_optional(in, "retry_max_elapsed_ms", out.retry_max_elapsed, {.min = 1});
  in.read_duration("checkpoint_interval_ms", out.checkpoint_interval, {.min = 100, .max = day_ms});
  read_optional(in, "halted_retry_secs", out.halted_retry, {.min = 1});
  if (in.number("txn_buffer_cap_mb", {.min = 1}))
    in.note("txn_buffer_cap_mb", "has no effect: transactions pass through and none is buffered");
  out.quarantines = in.choice("on_permanent_rejection", reactions) == std::size_t{1};
  in.read("max_rejects", out.max_rejects, {.min = 1, .max = 10'000});
  if (out.quarantines && !targets.has_documents)
    in.report(
        "on_permanent_rejection",
        "\"quarantine\" is for opensearch and elasticsearch: the other targets have nowhere to "
        "put a row aside");
  else if (out.quarantines && targets.has_others)
    in.note("on_permanent_rejection",
            "\"quarantine\" is for the document targets: a row that another refuses halts");
  if (!out.quarantines && in.has("max_rejects"))
    in.note("max_rejects", "has no effect without on_permanent_rejection = \"quarantine\"");
  in.finish();
  return out;
}

} // namespace cdc::config
