#include "actors/metrics.hpp"

#include <array>
#include <concepts>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cdc::actors {

namespace {

using label = std::pair<std::string_view, std::string_view>;
using labels = std::initializer_list<label>;

void append_escaped(std::string& out, std::string_view text) {
  for (const auto character : text) {
    if (character == '\\' || character == '"')
      out += '\\';
    if (character == '\n')
      out += "\\n";
    else
      out += character;
  }
}

/// One metric: its HELP and TYPE are written with its first series, so an empty one leaves no
/// trace.
class family {
public:
  family(std::string& out, std::string_view name, std::string_view type, std::string_view help)
      : out_(out), name_(name), type_(type), help_(help) {}

  template <class Number>
  void sample(labels of, Number value) {
    line("", of, {}, value);
  }

  void sample(labels of, const histogram_view& times) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < times.bounds.size(); ++i) {
      below += times.counts[i];
      line("_bucket", of, fmt::format("{}", times.bounds[i]), below);
    }
    const auto all = times.count();
    line("_bucket", of, "+Inf", all);
    line("_sum", of, {}, times.sum);
    line("_count", of, {}, all);
  }

private:
  template <class Number>
  void line(std::string_view suffix, labels of, std::string_view bound, Number value) {
    introduce();
    fmt::format_to(std::back_inserter(out_), "cdc_{}{}{{", name_, suffix);
    auto separator = "";
    for (const auto& [key, text] : of) {
      fmt::format_to(std::back_inserter(out_), "{}{}=\"", std::exchange(separator, ","), key);
      append_escaped(out_, text);
      out_ += '"';
    }
    if (!bound.empty())
      fmt::format_to(std::back_inserter(out_), ",le=\"{}\"", bound);
    if constexpr (std::same_as<Number, bool>)
      fmt::format_to(std::back_inserter(out_), "}} {}\n", value ? 1 : 0);
    else
      fmt::format_to(std::back_inserter(out_), "}} {}\n", value);
  }

  void introduce() {
    if (std::exchange(is_introduced_, true))
      return;
    fmt::format_to(std::back_inserter(out_), "# HELP cdc_{0} {1}\n# TYPE cdc_{0} {2}\n", name_,
                   help_, type_);
  }

  std::string& out_;
  std::string_view name_, type_, help_;
  bool is_introduced_ = false;
};

/// Families in the order they stand in the text; each walks the whole board, as the format wants
/// the series of one family together.
class page {
public:
  page(std::string& out, const board_view& seen) : out_(out), seen_(seen) {}

  template <class Body>
  void by_pipeline(std::string_view name, std::string_view type, std::string_view help, Body body) {
    family into{out_, name, type, help};
    for (const auto& pipeline : seen_.pipelines)
      body(into, pipeline);
  }

  /// `get` says the value of one sink.
  template <class Get>
  void by_sink(std::string_view name, std::string_view type, std::string_view help, Get get) {
    by_pipeline(name, type, help, [&](family& into, const pipeline_view& of) {
      for (const auto& sink : of.sinks)
        into.sample({{"source", of.name}, {"sink", sink.name}}, get(sink));
    });
  }

  /// The same of those that write by requests.
  template <class Get>
  void by_target(std::string_view name, std::string_view type, std::string_view help, Get get) {
    by_pipeline(name, type, help, [&](family& into, const pipeline_view& of) {
      for (const auto& sink : of.sinks)
        if (sink.target)
          into.sample({{"source", of.name}, {"sink", sink.name}}, get(*sink.target));
    });
  }

  template <class Get>
  void by_table(std::string_view name, std::string_view type, std::string_view help, Get get) {
    by_pipeline(name, type, help, [&](family& into, const pipeline_view& of) {
      for (const auto& table : of.tables)
        into.sample({{"source", of.name}, {"sink", table.sink}, {"table", table.name}}, get(table));
    });
  }

  template <class Get>
  void of_pipeline(std::string_view name, std::string_view type, std::string_view help, Get get) {
    by_pipeline(name, type, help, [&](family& into, const pipeline_view& of) {
      into.sample({{"source", of.name}}, get(of));
    });
  }

  template <class Get>
  void by_actor(std::string_view name, std::string_view type, std::string_view help, Get get) {
    family into{out_, name, type, help};
    for (const auto& actor : seen_.actors)
      if (!actor.pipeline.empty())
        into.sample({{"source", actor.pipeline}, {"actor", actor.name}}, get(actor));
  }

  [[nodiscard]] std::string_view version() const noexcept { return seen_.version; }
  [[nodiscard]] std::string_view node() const noexcept { return seen_.node; }

private:
  std::string& out_;
  const board_view& seen_;
};

void render_source(page& to) {
  to.by_pipeline(
      "build_info", "gauge", "The program that runs this pipeline; always 1.",
      [&](family& into, const pipeline_view& of) {
        into.sample({{"source", of.name}, {"version", to.version()}, {"node", to.node()}}, 1);
      });
  to.by_pipeline(
      "source_state", "gauge", "State of the pipeline: the one that is 1.",
      [](family& into, const pipeline_view& of) {
        for (std::size_t i = 0; i < pipeline_states; ++i) {
          const auto state = static_cast<pipeline_state>(i);
          into.sample({{"source", of.name}, {"state", to_string(state)}}, of.state == state);
        }
      });
  to.of_pipeline("source_connected", "gauge", "Whether the replication connection is up.",
                 [](const auto& of) { return of.is_connected; });
  to.of_pipeline("incarnation", "gauge", "Lives of the pipeline's actors since the process began.",
                 [](const auto& of) { return of.incarnation; });
  to.of_pipeline("reconnects_total", "counter", "Times the source was connected to again.",
                 [](const auto& of) { return of.reconnects; });
  to.by_pipeline("events_total", "counter", "Events of the log that were handled.",
                 [](family& into, const pipeline_view& of) {
                   into.sample({{"source", of.name}, {"type", "row"}}, of.events_row);
                   into.sample({{"source", of.name}, {"type", "truncate"}}, of.events_truncate);
                 });
  to.of_pipeline("transactions_total", "counter", "Transactions of the log that were decoded.",
                 [](const auto& of) { return of.transactions; });
  to.of_pipeline("stream_bytes_total", "counter", "Bytes of the blocks decoded from the log.",
                 [](const auto& of) { return of.stream_bytes; });
  to.by_pipeline("schema_drift_total", "counter", "Changes of a table's shape that were seen.",
                 [](family& into, const pipeline_view& of) {
                   for (const auto& one : of.drift)
                     into.sample({{"source", of.name}, {"table", one.table}}, one.changes);
                 });
}

void render_positions(page& to) {
  to.of_pipeline("position_current", "gauge", "End of the source's log, as an opaque number.",
                 [](const auto& of) { return of.current.token; });
  to.of_pipeline("position_received", "gauge", "Position below which everything was decoded.",
                 [](const auto& of) { return of.received.token; });
  to.of_pipeline("position_confirmed", "gauge", "Position that every target acknowledged.",
                 [](const auto& of) { return of.confirmed.token; });
  to.of_pipeline("position_durable", "gauge", "Position reported to the source as durable.",
                 [](const auto& of) { return of.durable.token; });
  to.of_pipeline("position_lag", "gauge", "position_current less position_confirmed.",
                 [](const auto& of) { return of.lag_bytes; });
  to.of_pipeline("lag_seconds", "gauge",
                 "Age of the oldest commit that not every target acknowledged.",
                 [](const auto& of) { return of.lag_seconds; });
  to.by_sink("sink_position_acknowledged", "gauge", "Position that this target acknowledged.",
             [](const auto& of) { return of.acknowledged.token; });
  to.by_sink("sink_position_durable", "gauge",
             "Position that survives a power loss at this target.",
             [](const auto& of) { return of.durable.token; });
}

void render_slots(page& to) {
  const auto by_slot = [&](std::string_view name, std::string_view help, auto get) {
    to.by_pipeline(name, "gauge", help, [&](family& into, const pipeline_view& of) {
      for (const auto& slot : of.slots)
        into.sample({{"source", of.name}, {"slot", slot.name}}, get(slot));
    });
  };
  by_slot("slot_active", "Whether a reader holds the slot.",
          [](const auto& of) { return of.is_active; });
  by_slot("slot_retained_bytes", "Log that the server keeps for the slot.",
          [](const auto& of) { return of.retained_bytes; });
  to.by_pipeline("slot_safe_wal_size_bytes", "gauge",
                 "Log that may still be written before the slot is in danger.",
                 [](family& into, const pipeline_view& of) {
                   for (const auto& slot : of.slots)
                     if (slot.safe_bytes)
                       into.sample({{"source", of.name}, {"slot", slot.name}}, *slot.safe_bytes);
                 });
  to.by_pipeline(
      "slot_wal_status", "gauge", "The server's wal_status of the slot: the one that is 1.",
      [](family& into, const pipeline_view& of) {
        for (const auto& slot : of.slots)
          for (const auto status : {wal_status::reserved, wal_status::extended,
                                    wal_status::unreserved, wal_status::lost})
            into.sample({{"source", of.name}, {"slot", slot.name}, {"status", to_string(status)}},
                        slot.status == status);
      });
}

void render_rows(family& into, std::string_view source, const sink_view& sink,
                 std::string_view origin, const rows_view& rows) {
  const std::array<std::pair<std::string_view, std::uint64_t>, 4> results{{
      {"written", rows.written},
      {"filtered", rows.filtered},
      {"superseded", rows.superseded},
      {"quarantined", rows.quarantined},
  }};
  for (const auto& [result, count] : results)
    into.sample({{"source", source}, {"sink", sink.name}, {"origin", origin}, {"result", result}},
                count);
}

void render_sinks(page& to) {
  const auto by_origin = [&](std::string_view name, std::string_view help, auto get) {
    to.by_pipeline(name, "counter", help, [&](family& into, const pipeline_view& of) {
      for (const auto& sink : of.sinks) {
        into.sample({{"source", of.name}, {"sink", sink.name}, {"origin", "stream"}},
                    get(sink.streamed));
        into.sample({{"source", of.name}, {"sink", sink.name}, {"origin", "load"}},
                    get(sink.copied));
      }
    });
  };
  by_origin("rows_read_total", "Rows that reached the engine; the sum of rows_total.",
            [](const auto& of) { return of.read; });
  to.by_pipeline("rows_total", "counter", "What became of the rows.",
                 [](family& into, const pipeline_view& of) {
                   for (const auto& sink : of.sinks) {
                     render_rows(into, of.name, sink, "stream", sink.streamed);
                     render_rows(into, of.name, sink, "load", sink.copied);
                   }
                 });
  by_origin("rows_merged_total", "Rows written with cells the log had supplied before.",
            [](const auto& of) { return of.merged; });
  to.by_sink("batches_flushed_total", "counter", "Writes that a target took.",
             [](const auto& of) { return of.batches_flushed; });
  to.by_sink("sink_errors_total", "counter", "Writes to a target that failed.",
             [](const auto& of) { return of.errors; });
  to.by_sink("rejected_total", "counter", "Rows that a target refused for good.",
             [](const auto& of) { return of.refused; });
  to.by_sink("toast_readbacks_total", "counter", "Rows read again by key to complete them.",
             [](const auto& of) { return of.refetched; });
  to.by_sink("refetch_listed", "gauge", "Rows that wait to be read again by key.",
             [](const auto& of) { return of.refetch_listed; });
  to.by_sink("load_entries", "gauge", "Keys remembered while copied rows of them may come.",
             [](const auto& of) { return of.entries; });
  to.by_sink("latency_seconds", "histogram",
             "From the decoding of a change to its acknowledgement.",
             [](const auto& of) { return of.decode_to_ack; });
  to.by_sink("commit_latency_seconds", "histogram",
             "From the commit at the source to its acknowledgement.",
             [](const auto& of) { return of.commit_to_ack; });
  to.by_sink("batch_write_seconds", "histogram", "Duration of one write to a target.",
             [](const auto& of) { return of.batch_write; });
}

void render_targets(page& to) {
  to.by_target("target_waits", "gauge", "Whether something is in the way of all writing.",
               [](const auto& of) { return !of.waits_for.empty(); });
  to.by_target("target_open_writes", "gauge", "Writes without an answer yet.",
               [](const auto& of) { return of.open; });
  to.by_target("target_oldest_open_seconds", "gauge", "Age of the oldest of them.",
               [](const auto& of) { return of.oldest_open_seconds; });
  to.by_target("target_open_writes_limit", "gauge", "Writes that may be open at present.",
               [](const auto& of) { return of.requests_now; });
  to.by_target("target_items_limit", "gauge", "Items that one write may have at present.",
               [](const auto& of) { return of.items_now; });
  to.by_target("target_bytes_limit", "gauge", "Bytes that one write may have at present.",
               [](const auto& of) { return of.bytes_now; });
  to.by_target("target_retried_total", "counter", "Items and requests that were sent again.",
               [](const auto& of) { return of.retried; });
  to.by_target("target_documents_total", "counter", "Actions on documents that were taken.",
               [](const auto& of) { return of.documents; });
  to.by_target("target_bytes_total", "counter", "Bytes of the bodies that were taken.",
               [](const auto& of) { return of.bytes; });
  to.by_target("target_quarantined", "gauge", "Documents that are put aside at the target.",
               [](const auto& of) { return of.quarantined; });
  to.by_pipeline("target_write_seconds", "histogram", "Duration of one write, by how it ended.",
                 [](family& into, const pipeline_view& of) {
                   for (const auto& sink : of.sinks)
                     for (std::size_t i = 0; sink.target && i < sink.target->latency.size(); ++i)
                       into.sample({{"source", of.name},
                                    {"sink", sink.name},
                                    {"result", to_string(static_cast<sinks::write_result>(i))}},
                                   sink.target->latency[i]);
                 });
}

void render_load(page& to) {
  to.of_pipeline("load_finished", "gauge", "Whether the initial load is done.",
                 [](const auto& of) { return of.load_finished; });
  to.of_pipeline("load_paused", "gauge",
                 "Whether the initial load stands still, to spare the source.",
                 [](const auto& of) { return !of.load_paused.empty(); });
  to.by_table("load_rows_total", "counter", "Rows copied by the initial load.",
              [](const auto& of) { return of.rows; });
  to.by_table("load_rows_estimate", "gauge", "Rows that the source expects in the table.",
              [](const auto& of) { return of.rows_estimate; });
  to.by_table("load_ranges", "gauge", "Ranges that the table's load was divided into.",
              [](const auto& of) { return of.ranges; });
  to.by_table("load_ranges_done", "gauge", "Ranges that were copied.",
              [](const auto& of) { return of.ranges_done; });
}

void render_actors(page& to) {
  constexpr auto seconds = [](std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * 1e-9;
  };
  to.by_actor("actor_messages_total", "counter", "Messages handled.",
              [](const auto& of) { return of.messages; });
  to.by_actor("actor_busy_seconds_total", "counter", "Time spent inside handlers.",
              [=](const auto& of) { return seconds(of.busy); });
  to.by_actor("actor_starved_seconds_total", "counter", "Time with data to send and no credit.",
              [=](const auto& of) { return seconds(of.starved); });
  to.by_actor("actor_restarts_total", "counter", "Lives after the first.",
              [](const auto& of) { return of.restarts; });
  to.by_actor("actor_mailbox_messages", "gauge", "Messages that waited when it last looked.",
              [](const auto& of) { return of.mailbox; });
  to.by_actor("actor_credit_held_bytes", "gauge", "Bytes it may still send.",
              [](const auto& of) { return of.held.bytes; });
  to.by_actor("actor_credit_owed_bytes", "gauge", "Bytes it took and has not handed back.",
              [](const auto& of) { return of.owed.bytes; });
  to.by_actor("actor_in_flight_bytes", "gauge", "Bytes it keeps.",
              [](const auto& of) { return of.in_flight; });
}

} // namespace

std::string render_metrics(const board_view& seen) {
  std::string out;
  page to{out, seen};
  render_source(to);
  render_positions(to);
  render_slots(to);
  render_sinks(to);
  render_targets(to);
  render_load(to);
  render_actors(to);
  return out;
}

} // namespace cdc::actors
