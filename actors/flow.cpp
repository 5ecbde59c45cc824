#include "actors/flow.hpp"

#include <algorithm>

namespace cdc::actors {

namespace {

/// Growth of a counter per second; one that was reset grew from zero.
template <class Number>
double rate(Number before, Number now, double seconds) noexcept {
  if (seconds <= 0)
    return 0;
  return static_cast<double>(now >= before ? now - before : now) / seconds;
}

/// The first that is the same, tried at `place` first: the lists of a board keep their order.
template <class List, class Same>
auto find_in(const List& list, std::size_t place, Same same) -> const typename List::value_type* {
  if (place < list.size() && same(list[place]))
    return &list[place];
  const auto found = std::find_if(list.begin(), list.end(), same);
  return found == list.end() ? nullptr : &*found;
}

actor_flow flow_of(const actor_view* before, const actor_view& now, double seconds) {
  const auto is_same_life = before && before->incarnation == now.incarnation &&
                            before->restarts == now.restarts && before->messages <= now.messages;
  if (!is_same_life || seconds <= 0)
    return {};
  const auto share = [&](std::int64_t from, std::int64_t to) {
    return std::clamp(static_cast<double>(to - from) * 1e-9 / seconds, 0.0, 1.0);
  };
  return {.busy = share(before->busy, now.busy),
          .starved = share(before->starved, now.starved),
          .messages_per_second = rate(before->messages, now.messages, seconds)};
}

double part_done(const table_view& table) noexcept {
  if (table.state == table_state::loaded)
    return 1;
  // Both are estimates; the rows move more often, the ranges cannot pass the whole.
  const auto by_rows = table.rows_estimate == 0 ? 0
                                                : static_cast<double>(table.rows) /
                                                      static_cast<double>(table.rows_estimate);
  const auto by_ranges =
      table.ranges == 0 ? 0 : static_cast<double>(table.ranges_done) / table.ranges;
  return std::min(table.rows_estimate == 0 ? by_ranges : std::max(by_rows, by_ranges), 0.999);
}

table_flow flow_of(const table_view* before, const table_view& now, double seconds,
                   std::int64_t clock) {
  table_flow flow{.part_done = part_done(now)};
  if (now.state != table_state::loading)
    return flow;
  const auto so_far = static_cast<double>(clock - now.started) * 1e-6;
  const auto average = now.started == 0 ? 0 : rate<std::uint64_t>(0, now.rows, so_far);
  flow.rows_per_second = before ? rate(before->rows, now.rows, seconds) : average;
  // By the average: what a person watches should not jump with each wave.
  if (average > 0 && now.rows_estimate > 0)
    flow.seconds_left = (1 - flow.part_done) * static_cast<double>(now.rows_estimate) / average;
  return flow;
}

std::string furthest_behind(const pipeline_view& pipeline) {
  const auto& sinks = pipeline.sinks;
  if (sinks.size() < 2)
    return {};
  const auto [least, most] =
      std::minmax_element(sinks.begin(), sinks.end(), [](const auto& a, const auto& b) {
        return a.acknowledged < b.acknowledged;
      });
  return least->acknowledged < most->acknowledged ? least->name : std::string{};
}

/// The most starved actor of the kinds that send to the next stage.
const actor_view* most_starved(const board_view& now, const flow_view& flow,
                               std::string_view pipeline, std::initializer_list<actor_kind> kinds) {
  constexpr auto enough = 0.25;
  const actor_view* most = nullptr;
  auto share = enough;
  for (std::size_t i = 0; i < now.actors.size(); ++i) {
    const auto& actor = now.actors[i];
    if (actor.pipeline != pipeline || actor.state != actor_state::running ||
        std::find(kinds.begin(), kinds.end(), actor.kind) == kinds.end())
      continue;
    if (flow.actors[i].starved >= share) {
      share = flow.actors[i].starved;
      most = &actor;
    }
  }
  return most;
}

std::string name_of(const board_view& now, std::string_view pipeline, actor_kind kind) {
  const auto* found = find_in(now.actors, 0, [&](const actor_view& actor) {
    return actor.pipeline == pipeline && actor.kind == kind;
  });
  return found ? found->name : std::string{to_string(kind)};
}

sink_flow flow_of(const sink_view* before, const sink_view& now, double seconds) {
  if (!before || now.batches_flushed < before->batches_flushed)
    return {};
  return {.writing = std::max(now.batch_write.sum - before->batch_write.sum, 0.0) / seconds,
          .batches_per_second = rate(before->batches_flushed, now.batches_flushed, seconds)};
}

/// A target that is written to nearly all the time.
std::string busy_target(const pipeline_view& pipeline, const pipeline_flow& of) {
  constexpr auto nearly_all = 0.7;
  std::string busiest;
  auto share = nearly_all;
  for (std::size_t i = 0; i < of.sinks.size(); ++i) {
    if (of.sinks[i].writing >= share) {
      share = of.sinks[i].writing;
      busiest = pipeline.sinks[i].name;
    }
  }
  return busiest;
}

/// Data waits in front of the slowest stage and nowhere behind it: so it is the one behind the last
/// sender that starves for credit.
bottleneck slowest_stage(const board_view& now, const flow_view& flow,
                         const pipeline_view& pipeline, const pipeline_flow& of) {
  const auto starves = [&](std::initializer_list<actor_kind> kinds) {
    return most_starved(now, flow, pipeline.name, kinds) != nullptr;
  };
  if (starves({actor_kind::engine}))
    return {of.held_back_by.empty() ? name_of(now, pipeline.name, actor_kind::sink)
                                    : of.held_back_by,
            "the engine has batches and no credit to send them"};
  if (starves({actor_kind::source, actor_kind::reader, actor_kind::coordinator})) {
    if (auto target = busy_target(pipeline, of); !target.empty())
      return {std::move(target), "its writes fill the time, and the stages before it wait"};
    return {name_of(now, pipeline.name, actor_kind::engine),
            "the source has rows and no credit to send them"};
  }
  if (of.streamed_rows_per_second + of.copied_rows_per_second > 0)
    return {name_of(now, pipeline.name, actor_kind::source),
            "every stage behind it waits for rows"};
  return {};
}

pipeline_flow flow_of(const pipeline_view* before, const pipeline_view& now, double seconds,
                      std::int64_t clock) {
  pipeline_flow flow;
  if (before) {
    flow.streamed_rows_per_second = rate(before->events_row, now.events_row, seconds);
    flow.stream_bytes_per_second = rate(before->stream_bytes, now.stream_bytes, seconds);
    if (before->received.token != 0)
      flow.log_bytes_per_second = rate(before->received.token, now.received.token, seconds);
  }
  if (now.is_catching_up && flow.log_bytes_per_second > 0)
    flow.seconds_left = static_cast<double>(now.bytes_left) / flow.log_bytes_per_second;
  for (std::size_t i = 0; i < now.tables.size(); ++i) {
    const auto& table = now.tables[i];
    const auto is_same = [&](const table_view& one) {
      return one.name == table.name && one.sink == table.sink;
    };
    const auto* earlier = before ? find_in(before->tables, i, is_same) : nullptr;
    flow.tables.push_back(flow_of(earlier, table, seconds, clock));
    flow.copied_rows_per_second += flow.tables.back().rows_per_second;
  }
  for (std::size_t i = 0; i < now.sinks.size(); ++i) {
    const auto is_same = [&](const sink_view& one) { return one.name == now.sinks[i].name; };
    const auto* earlier = before ? find_in(before->sinks, i, is_same) : nullptr;
    flow.sinks.push_back(flow_of(earlier, now.sinks[i], seconds));
  }
  flow.held_back_by = furthest_behind(now);
  return flow;
}

} // namespace

flow_view derive_flow(const board_view* before, const board_view& now) {
  flow_view flow;
  if (before)
    flow.seconds = static_cast<double>(now.now - before->now) * 1e-6;
  if (flow.seconds <= 0) {
    before = nullptr;
    flow.seconds = 0;
  }
  for (std::size_t i = 0; i < now.actors.size(); ++i) {
    const auto is_same = [&](const actor_view& one) { return one.id == now.actors[i].id; };
    const auto* earlier = before ? find_in(before->actors, i, is_same) : nullptr;
    flow.actors.push_back(flow_of(earlier, now.actors[i], flow.seconds));
  }
  for (std::size_t i = 0; i < now.pipelines.size(); ++i) {
    const auto& pipeline = now.pipelines[i];
    const auto is_same = [&](const pipeline_view& one) { return one.name == pipeline.name; };
    const auto* earlier = before ? find_in(before->pipelines, i, is_same) : nullptr;
    auto& of = flow.pipelines.emplace_back(flow_of(earlier, pipeline, flow.seconds, now.now));
    of.slowest = slowest_stage(now, flow, pipeline, of);
  }
  return flow;
}

} // namespace cdc::actors
